import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startFixture, startHandler as handle } from '../../test/support/handlers.ts'
import { recordedChildren } from '../../test/support/recorded-children.ts'
import { isRunning, killIfThere, type Running, until, World } from '../../test/support/world.ts'

/** A run with a child, a grandchild and a daemon; those that a failed test leaves are killed with it. */
class Family implements Disposable {
  readonly world: World
  readonly #pidFile: string

  constructor(world: World) {
    this.world = world
    this.#pidFile = join(world.tmp, 'pids')
  }

  start(ending: string, flags: string[]): Running {
    return startFixture(this.world, 'family.mjs', [ending, this.#pidFile, ...flags])
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
  await until('all three processes are up', () => family.pids.length === 3)
  if (how.signal !== undefined) running.child.kill(how.signal)
  const result = await running.finished
  expect(result).toMatchObject({ code: how.exit, stderr: '' })
  const { ok, error, meta } = result.envelope()
  expect({ ok, code: error?.code }).toEqual({ ok: how.exit === 0, code: how.code })
  expect(meta.session_pid_file).toBe(join(world.runs, meta.request_id, '.stint/children.pids'))
  expect(world.leftovers()).toEqual([])
  // At process.exit there is only time to kill the processes, not to wait until they are gone.
  await until('no process is left', () => family.survivors.length === 0)
})

test.each([
  ['a normal family', []],
  ['a family that ignores SIGTERM', ['--stubborn']],
])('after kill -9, the guard leaves neither a process of %s nor the scratch', async (_, flags) => {
  await using world = new World()
  using family = new Family(world)
  const running = family.start('wait', flags)
  await until('all three processes are up', () => family.pids.length === 3)
  running.child.kill('SIGKILL')
  expect(await running.finished).toMatchObject({ signal: 'SIGKILL', stdout: '' })
  await until('no process is left', () => family.survivors.length === 0)
  await until('the scratch is gone', () => world.leftovers().length === 0)
})

test('without a guard, the children survive kill -9, and a sweep leaves the scratch to them while they live', async () => {
  await using world = new World()
  using family = new Family(world)
  const running = family.start('wait', ['--no-guard'])
  await until('all three processes are up', () => family.pids.length === 3)
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

/** The process whose pid a fixture has written; killed with the test if it still runs. */
class Written implements Disposable {
  readonly #path: string
  constructor(world: World) {
    this.#path = join(world.tmp, 'pid')
  }

  get pid(): number {
    return existsSync(this.#path) ? Number(readFileSync(this.#path, 'utf8')) : 0
  }

  [Symbol.dispose](): void {
    if (this.pid > 0 && isRunning(this.pid)) killIfThere(this.pid)
  }
}

test.each(['throw-no-text', 'daemon-of-own-env'])('%s: no child is left', async (how) => {
  await using world = new World()
  using written = new Written(world)
  const result = await handle(world, how, world.tmp).finished
  expect(result.envelope().meta.session_pid_file).toBeTypeOf('string')
  expect(written.pid).toBeGreaterThan(0)
  expect(isRunning(written.pid)).toBe(false)
  expect(world.leftovers()).toEqual([])
})

test('a grandchild that ignores SIGTERM is killed even if nothing links it to the run any more', async () => {
  await using world = new World()
  using written = new Written(world)
  const running = handle(world, 'scrubbed-grandchild', world.tmp, '--grace', '200ms')
  await until('the grandchild is up', () => written.pid > 0)
  running.child.kill('SIGTERM')
  expect((await running.finished).code).toBe(143)
  expect(isRunning(written.pid)).toBe(false)
})

test('`exited` waits for the end of a child that was aborted', async () => {
  await using world = new World()
  const running = handle(world, 'abort-child', world.tmp)
  await until('the child is up', () => existsSync(join(world.tmp, 'ready')))
  running.child.kill('SIGTERM')
  expect((await running.finished).code).toBe(143)
  expect(readFileSync(join(world.tmp, 'exit'), 'utf8')).toBe('9 false')
})
