import { existsSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { startHandler as handle } from '../../test/support/handlers.ts'
import { type Finished, until, World } from '../../test/support/world.ts'
import { openRoot } from '../scratch/root.ts'
import { sweep } from '../sweep/sweep.ts'

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
])('a handler with %s: exit %i, its error, no stack trace, no scratch', async (how, exit, error) => {
  await using world = new World()
  const result = await handle(world, how).finished
  expect(result).toMatchObject({ code: exit, stderr: '' })
  expect(result.envelope()).toMatchObject({ ok: false, data: null, error })
  expectNoStackTrace(result)
  expect(world.leftovers()).toEqual([])
})

test('a handler that returns nothing has an empty answer', async () => {
  await using world = new World()
  const result = await handle(world, 'say-nothing').finished
  expect(result.code).toBe(0)
  expect(result.envelope()).toMatchObject({ ok: true, data: {}, error: null, warnings: [] })
})

test('output of a handler and its children goes to stderr, and stdout is the envelope alone', async () => {
  await using world = new World()
  const result = await handle(world, 'print', '--json').finished
  expect(result.envelope().data).toEqual({ printed: true })
  expect(result.stderr.trim().split('\n').sort()).toEqual([
    'from a child',
    'from console.log',
    'from process.stdout',
  ])
})

test('cleanup hooks run newest first, before the scratch is removed, and one that throws is a warning', async () => {
  await using world = new World()
  const result = await handle(world, 'hooks').finished
  expect(result.code).toBe(0)
  expect(result.stderr).toBe('third hook, scratch there\nfirst hook\n')
  expect(result.envelope()).toMatchObject({
    data: { done: true },
    warnings: ['CLEANUP_FAILED: no such socket'],
  })
  expect(world.leftovers()).toEqual([])
})

test.each([
  ['bigint', 'the answer cannot be written as JSON'],
  ['cycle', 'the answer cannot be written as JSON'],
  ['bigint-fact', 'the answer cannot be written as JSON'],
  ['never-settle', 'can never finish'],
  ['exit-in-hook', 'broken on purpose'],
  ['uncaught-no-text', 'cannot be written as text'],
])('%s: one envelope with the error, exit 1, no scratch', async (how, message) => {
  await using world = new World()
  const result = await handle(world, how).finished
  expect(result).toMatchObject({ code: 1, stderr: '' })
  expect(result.envelope()).toMatchObject({
    ok: false,
    error: { code: 'UNEXPECTED', message: expect.stringContaining(message) as string },
  })
  expect(world.leftovers()).toEqual([])
})

test.each(['function', 'nan'])('JSON has no %s: the answer is empty', async (how) => {
  await using world = new World()
  expect((await handle(world, how).finished).envelope()).toMatchObject({ ok: true, data: {} })
})

test('a stream kept from before the run does not reach stdout either', async () => {
  await using world = new World()
  const result = await handle(world, 'captured-stdout').finished
  expect(result.envelope().ok).toBe(true)
  expect(result.stderr).toBe('from a captured stream\n')
})

test('a warning that is not a string becomes one', async () => {
  await using world = new World()
  expect((await handle(world, 'warn-error').finished).envelope().warnings).toEqual(['not text'])
})

test('a tool may use its own error code', async () => {
  await using world = new World()
  const result = await handle(world, 'own-code').finished
  expect(result.code).toBe(9)
  expect(result.envelope().error).toMatchObject({ code: 'QUOTA_EXCEEDED', suggestion: 'Come back tomorrow.' })
})

test('an error without a message still gives a valid envelope', async () => {
  await using world = new World()
  const result = await handle(world, 'empty-message').finished
  expect(result.code).toBe(5)
  expect(result.envelope().error?.code).toBe('NOT_FOUND')
})

test('a sweep leaves an expired output alone while its run lives', async () => {
  await using world = new World()
  const running = handle(world, 'expired-output', world.tmp)
  await until('the output is there', () => existsSync(join(world.tmp, 'ready')))
  const sweepLater = () =>
    sweep({
      root: openRoot({ STINT_TMP_ROOT: world.tmp }),
      clock: { now: () => Date.now() + 3_600_000, mono: () => 0 },
    })
  await sweepLater()
  writeFileSync(join(world.tmp, 'go'), '')
  const { output } = (await running.finished).envelope().data as { output: string }
  expect(existsSync(output)).toBe(true)
  expect(basename(dirname(dirname(output)))).toBe('out')
  await sweepLater()
  expect(existsSync(output)).toBe(false)
})
