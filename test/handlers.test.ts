import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { recordedChildren } from './support/recorded-children.ts'
import {
  type Finished,
  isRunning,
  killIfThere,
  projectRoot,
  type Running,
  until,
  World,
} from './support/world.ts'

const start = (world: World, fixture: string, args: string[]): Running =>
  world.start(process.execPath, [join(projectRoot, 'test/fixtures', fixture), ...args])

const misbehave = (world: World, ...args: string[]): Running => start(world, 'misbehave.mjs', args)

function expectNoStackTrace({ stdout, stderr }: Finished): void {
  expect(stdout + stderr).not.toMatch(/\n\s+at /)
}

test.each([
  [
    'throw-error',
    1,
    { code: 'UNEXPECTED', message: 'broken on purpose', retryable: false, phase: 'execution' },
  ],
  ['throw-text', 1, { code: 'UNEXPECTED', message: 'just text', retryable: false, phase: 'execution' }],
  [
    'throw-coded',
    5,
    {
      code: 'NOT_FOUND',
      message: 'no such target: docs',
      retryable: false,
      suggestion: 'Targets are app and lib.',
      detail: 'target=docs',
    },
  ],
  [
    'throw-own-exit',
    42,
    { code: 'CHILD_FAILED', message: 'the compiler failed', retryable: false, exit_code: 42 },
  ],
])('a handler that does %s: exit %i, its error, no stack trace, no scratch', async (how, exit, error) => {
  await using world = new World()
  const result = await misbehave(world, how).finished
  expect(result).toMatchObject({ code: exit, stderr: '' })
  expect(result.envelope()).toMatchObject({ ok: false, data: null, error })
  expectNoStackTrace(result)
  expect(world.leftovers()).toEqual([])
})

test('a handler that returns nothing has an empty answer', async () => {
  await using world = new World()
  const result = await misbehave(world, 'say-nothing').finished
  expect(result.code).toBe(0)
  expect(result.envelope()).toMatchObject({ ok: true, data: {}, error: null, warnings: [] })
})

test('what a handler and its children print goes to stderr, and stdout is the envelope alone', async () => {
  await using world = new World()
  const result = await misbehave(world, 'print', '--json').finished
  expect(result.envelope().data).toEqual({ printed: true })
  expect(result.stderr.trim().split('\n').sort()).toEqual([
    'from a child',
    'from console.log',
    'from process.stdout',
  ])
})

test('cleanup hooks run newest first with the scratch still there, and one that throws is a warning', async () => {
  await using world = new World()
  const result = await misbehave(world, 'hooks').finished
  expect(result.code).toBe(0)
  expect(result.stderr).toBe('third hook, scratch there\nfirst hook\n')
  expect(result.envelope()).toMatchObject({
    data: { done: true },
    warnings: ['CLEANUP_FAILED: no such socket'],
  })
  expect(world.leftovers()).toEqual([])
})

const heard = ({ output }: Running, signal: string): number =>
  output().stderr.split(`heard ${signal}\n`).length - 1

/** Stopped once, and now in the middle of a cleanup that goes on until there is a file `go`. */
async function startSlowCleanup(world: World, signal: 'SIGTERM' | 'SIGINT'): Promise<Running> {
  const running = misbehave(world, 'slow-cleanup', world.tmp, '--grace', '10m')
  await until('the handler is at work', () => existsSync(join(world.tmp, 'ready')))
  running.child.kill(signal)
  await until('the cleanup has begun', () => running.output().stderr.includes('cleaning\n'))
  return running
}

test('a second SIGTERM during a slow cleanup changes nothing: the cleanup ends, one envelope', async () => {
  await using world = new World()
  const running = await startSlowCleanup(world, 'SIGTERM')
  running.child.kill('SIGTERM')
  await until('it has heard both', () => heard(running, 'SIGTERM') === 2)
  expect(world.leftovers()).toHaveLength(1)
  writeFileSync(join(world.tmp, 'go'), '')
  const result = await running.finished
  expect(result.code).toBe(143)
  expect(result.envelope()).toMatchObject({ error: { code: 'CANCELLED', signal: 'SIGTERM' }, warnings: [] })
  expect(world.leftovers()).toEqual([])
})

test('a second SIGINT during a slow cleanup ends it at once: one envelope, the scratch out of the root', async () => {
  await using world = new World()
  const running = await startSlowCleanup(world, 'SIGINT')
  running.child.kill('SIGINT')
  const result = await running.finished
  expect(result.code).toBe(130)
  expect(result.envelope()).toMatchObject({
    error: { code: 'CANCELLED', signal: 'SIGINT' },
    meta: { partial: true },
  })
  expect(world.leftovers()).toEqual([])
  await world.stint(['sweep'])
  expect(readdirSync(join(world.root, 'trash')).filter((name) => name !== '.swept')).toEqual([])
})

test('a hook that takes longer than the grace is left behind with a warning', async () => {
  await using world = new World()
  const running = misbehave(world, 'slow-cleanup', world.tmp, '--grace', '100ms')
  await until('the handler is at work', () => existsSync(join(world.tmp, 'ready')))
  running.child.kill('SIGTERM')
  const result = await running.finished
  expect(result.code).toBe(143)
  expect(result.envelope().warnings).toEqual(['CLEANUP_FAILED: a cleanup hook took longer than 100ms'])
  expect(world.leftovers()).toEqual([])
})

test('a handler that listens to the signal finishes, with its scratch, before the run ends', async () => {
  await using world = new World()
  const running = misbehave(world, 'listen-to-signal', world.tmp)
  await until('the handler is at work', () => existsSync(join(world.tmp, 'ready')))
  running.child.kill('SIGTERM')
  const result = await running.finished
  expect(result.code).toBe(143)
  expect(result.envelope().error?.code).toBe('CANCELLED')
  expect(readFileSync(join(world.tmp, 'finished'), 'utf8')).toBe('CANCELLED true')
  expect(world.leftovers()).toEqual([])
})

/** A run with a child, a grandchild and a daemon; whoever of them a failed test leaves is ended with it. */
class Family implements Disposable {
  readonly world: World
  readonly #pidFile: string

  constructor(world: World) {
    this.world = world
    this.#pidFile = join(world.tmp, 'pids')
  }

  start(ending: string, flags: string[]): Running {
    return start(this.world, 'family.mjs', [ending, this.#pidFile, ...flags])
  }

  get pids(): number[] {
    return existsSync(this.#pidFile) ? readFileSync(this.#pidFile, 'utf8').trim().split('\n').map(Number) : []
  }

  get survivors(): number[] {
    return this.pids.filter(isRunning)
  }

  [Symbol.dispose](): void {
    for (const pid of this.survivors) killIfThere(pid)
  }
}

interface Ending {
  ending: string
  flags?: string[]
  signal?: NodeJS.Signals
  exit: number
  code?: string
}

const stubborn = ['--stubborn', '--grace', '200ms']

test.each<[string, Ending]>([
  ['a handler that returns', { ending: 'return', exit: 0 }],
  ['a handler that throws', { ending: 'throw', exit: 1, code: 'UNEXPECTED' }],
  ['process.exit(3)', { ending: 'exit', exit: 3, code: 'UNEXPECTED' }],
  ['an uncaught exception in a timer', { ending: 'uncaught', exit: 1, code: 'UNEXPECTED' }],
  ['an unhandled rejection', { ending: 'reject', exit: 1, code: 'UNEXPECTED' }],
  ['a timeout', { ending: 'wait', flags: ['--timeout', '100ms'], exit: 10, code: 'TIMEOUT' }],
  ['SIGTERM', { ending: 'wait', signal: 'SIGTERM', exit: 143, code: 'CANCELLED' }],
  ['SIGINT', { ending: 'wait', signal: 'SIGINT', exit: 130, code: 'CANCELLED' }],
  ['SIGHUP', { ending: 'wait', signal: 'SIGHUP', exit: 129, code: 'CANCELLED' }],
  ['a return, if they ignore SIGTERM', { ending: 'return', flags: stubborn, exit: 0 }],
  [
    'process.exit(3), if they ignore SIGTERM',
    { ending: 'exit', flags: stubborn, exit: 3, code: 'UNEXPECTED' },
  ],
  [
    'SIGTERM, if they ignore it',
    { ending: 'wait', flags: stubborn, signal: 'SIGTERM', exit: 143, code: 'CANCELLED' },
  ],
])('after %s there is one envelope, no descendant and no scratch', async (_, how) => {
  await using world = new World()
  using family = new Family(world)
  const running = family.start(how.ending, how.flags ?? [])
  await until('the whole family is up', () => family.pids.length === 3)
  if (how.signal !== undefined) running.child.kill(how.signal)
  const result = await running.finished
  expect(result).toMatchObject({ code: how.exit, stderr: '' })
  const { ok, error, meta } = result.envelope()
  expect({ ok, code: error?.code }).toEqual({ ok: how.exit === 0, code: how.code })
  expect(meta.session_pid_file).toBe(join(world.root, meta.request_id, '.stint/children.pids'))
  expect(world.leftovers()).toEqual([])
  // After process.exit there was no time to see them die, only to kill them.
  await until('nobody is left', () => family.survivors.length === 0)
})

test.each([
  ['a family', []],
  ['a family that ignores SIGTERM', ['--stubborn']],
])('after kill -9 the guard leaves nobody of %s, and no scratch', async (_, flags) => {
  await using world = new World()
  using family = new Family(world)
  const running = family.start('wait', ['--guard', ...flags])
  await until('the whole family is up', () => family.pids.length === 3)
  running.child.kill('SIGKILL')
  expect(await running.finished).toMatchObject({ signal: 'SIGKILL', stdout: '' })
  await until('nobody is left', () => family.survivors.length === 0)
  await until('the scratch is gone', () => world.leftovers().length === 0)
})

test('without a guard, kill -9 leaves the children alone, and their scratch is theirs as long as they live', async () => {
  await using world = new World()
  using family = new Family(world)
  const running = family.start('wait', [])
  await until('the whole family is up', () => family.pids.length === 3)
  await until('the child is on record', () => recordedChildren(world).length > 0)
  running.child.kill('SIGKILL')
  await running.finished
  await world.stint(['sweep'])
  expect(family.survivors).toHaveLength(3)
  expect(world.leftovers()).toHaveLength(1)
  for (const pid of family.survivors) killIfThere(pid)
  await until('they are gone', () => family.survivors.length === 0)
  await world.stint(['sweep'])
  expect(world.leftovers()).toEqual([])
})
