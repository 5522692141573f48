import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { openRoot } from '../src/scratch/root.ts'
import { sweepSync } from '../src/sweep/sweep.ts'
import { isRunning, killIfThere, projectRoot, type Running, until, World } from './support/world.ts'

const awkward = (world: World, ...args: string[]): Running =>
  world.start(process.execPath, [join(projectRoot, 'test/fixtures/awkward.mjs'), ...args])

const inWorld = (world: World, name: string): string => join(world.tmp, name)

/** The process a fixture wrote down, ended with the test if it is still there. */
class Written implements Disposable {
  readonly #path: string
  constructor(world: World) {
    this.#path = inWorld(world, 'pid')
  }

  get pid(): number {
    return existsSync(this.#path) ? Number(readFileSync(this.#path, 'utf8')) : 0
  }

  [Symbol.dispose](): void {
    if (this.pid > 0 && isRunning(this.pid)) killIfThere(this.pid)
  }
}

test.each([
  ['bigint', 'the answer cannot be written as JSON'],
  ['cycle', 'the answer cannot be written as JSON'],
  ['bigint-fact', 'the answer cannot be written as JSON'],
  ['never-settle', 'can never happen'],
  ['exit-in-hook', 'broken on purpose'],
  ['uncaught-no-text', 'cannot be written as text'],
])('%s: one envelope that says so, exit 1, no scratch', async (how, message) => {
  await using world = new World()
  const result = await awkward(world, how).finished
  expect(result).toMatchObject({ code: 1, stderr: '' })
  expect(result.envelope()).toMatchObject({
    ok: false,
    error: { code: 'UNEXPECTED', message: expect.stringContaining(message) as string },
  })
  expect(world.leftovers()).toEqual([])
})

test.each(['function', 'nan'])('%s is nothing in JSON: an empty answer', async (how) => {
  await using world = new World()
  expect((await awkward(world, how).finished).envelope()).toMatchObject({ ok: true, data: {} })
})

test('a stream taken before the run began does not reach stdout either', async () => {
  await using world = new World()
  const result = await awkward(world, 'captured-stdout').finished
  expect(result.envelope().ok).toBe(true)
  expect(result.stderr).toBe('from a captured stream\n')
})

test('a warning that is no text becomes text', async () => {
  await using world = new World()
  expect((await awkward(world, 'warn-error').finished).envelope().warnings).toEqual(['not text'])
})

test('a tool may bring a code of its own', async () => {
  await using world = new World()
  const result = await awkward(world, 'own-code').finished
  expect(result.code).toBe(9)
  expect(result.envelope().error).toMatchObject({ code: 'QUOTA_EXCEEDED', suggestion: 'Come back tomorrow.' })
})

test('an error without a message is still valid', async () => {
  await using world = new World()
  const result = await awkward(world, 'empty-message').finished
  expect(result.code).toBe(5)
  expect(result.envelope().error?.code).toBe('NOT_FOUND')
})

test.each(['throw-no-text', 'daemon-of-own-env'])('%s: no child is left', async (how) => {
  await using world = new World()
  using written = new Written(world)
  const result = await awkward(world, how, world.tmp).finished
  expect(result.envelope().meta.session_pid_file).toBeTypeOf('string')
  expect(written.pid).toBeGreaterThan(0)
  expect(isRunning(written.pid)).toBe(false)
  expect(world.leftovers()).toEqual([])
})

test('a grandchild that ignores SIGTERM is killed even when nothing links it to the run any more', async () => {
  await using world = new World()
  using written = new Written(world)
  const running = awkward(world, 'scrubbed-grandchild', world.tmp, '--grace', '200ms')
  await until('the grandchild is up', () => written.pid > 0)
  running.child.kill('SIGTERM')
  expect((await running.finished).code).toBe(143)
  expect(isRunning(written.pid)).toBe(false)
})

test('a signal that is asked for late has aborted', async () => {
  await using world = new World()
  const running = awkward(world, 'late-signal', world.tmp)
  await until('the handler is at work', () => existsSync(inWorld(world, 'ready')))
  running.child.kill('SIGTERM')
  expect((await running.finished).code).toBe(143)
  expect(readFileSync(inWorld(world, 'aborted'), 'utf8')).toBe('true')
})

test('`exited` waits for the end of a child that was aborted', async () => {
  await using world = new World()
  const running = awkward(world, 'abort-child', world.tmp)
  await until('the child is up', () => existsSync(inWorld(world, 'ready')))
  running.child.kill('SIGTERM')
  expect((await running.finished).code).toBe(143)
  expect(readFileSync(inWorld(world, 'exit'), 'utf8')).toBe('9 false')
})

test('a sweep leaves the output of a living run alone, however late it is', async () => {
  await using world = new World()
  const running = awkward(world, 'expired-output', world.tmp)
  await until('the output is there', () => existsSync(inWorld(world, 'ready')))
  const sweepLater = () =>
    sweepSync({
      root: openRoot({ STINT_TMP_ROOT: world.tmp }),
      clock: { now: () => Date.now() + 3_600_000, mono: () => 0 },
    })
  sweepLater()
  writeFileSync(inWorld(world, 'go'), '')
  const { output } = (await running.finished).envelope().data as { output: string }
  expect(existsSync(output)).toBe(true)
  expect(basename(dirname(dirname(output)))).toBe('out')
  sweepLater()
  expect(existsSync(output)).toBe(false)
})

test('--json behind the program is the program’s own', async () => {
  await using world = new World()
  expect(await world.stint(['run', 'echo', '--json'])).toMatchObject({
    code: 0,
    stdout: '--json\n',
    stderr: '',
  })
})
