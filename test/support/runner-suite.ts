import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { filesInSection } from './doc-blocks.ts'
import { removePackages, type TestRunner } from './runner-packages.ts'
import { printedValues, TestProject } from './test-project.ts'
import { isRunning, until } from './world.ts'

export interface RunnerSuite {
  /** A test file whose test creates a file `running-…` and then waits for the file `go`. */
  held: string
  /** The sections of docs/testing.md about the runner, with the number of files each shows. */
  guide: Record<string, number>
}

/** Tests that every runner must pass. All tests of a file share the packages; they are removed at its end. */
export function testRunner(runner: TestRunner, { held, guide }: RunnerSuite): void {
  afterAll(() => removePackages(runner))
  testConcurrentRuns(runner, held)

  test.each([
    ['STINT_TEST_KEEP', 'STINT_TEST_KEEP must be one of never, on-failure, always, not "sometimes"'],
    ['STINT_TEST_LEAKS', 'STINT_TEST_LEAKS must be one of off, warn, fail, not "sometimes"'],
  ])('an invalid %s is an error, and nothing is created', async (name, message) => {
    await using project = new TestProject(runner)
    const { code, printed } = await project.test([], { [name]: 'sometimes' })
    expect(code).not.toBe(0)
    expect(printed).toContain(message)
    expect(existsSync(project.root)).toBe(false)
  })

  test.each(Object.entries(guide))('the files that the guide shows under "%s" work', async (title, count) => {
    const files = filesInSection('docs/testing.md', title)
    expect(Object.keys(files)).toHaveLength(count)
    await using project = new TestProject(runner, files)
    const { code, printed } = await project.test()
    expect(printed).not.toContain('stint:')
    expect({ code, remains: project.remains() }).toEqual({ code: 0, remains: [] })
  })
}

function testConcurrentRuns(runner: TestRunner, held: string): void {
  const open = (): TestProject => new TestProject(runner, { 'held.test.js': held })
  const only = [runner === 'node-test' ? 'held.test.js' : 'held']
  const running = (project: TestProject): string[] =>
    readdirSync(project.path).filter((name) => name.startsWith('running-'))

  test('two concurrent runs are separate, and a sweep meanwhile removes nothing', async () => {
    await using project = open()
    const runs = [project.startTests(only), project.startTests(only)]
    await until('both are in their test', () => running(project).length === 2)
    expect(project.leftovers()).toHaveLength(2)
    expect((await project.stint(['sweep'])).code).toBe(0)
    writeFileSync(join(project.path, 'go'), '')
    const finished = await Promise.all(runs.map((run) => run.finished))
    expect(finished.map(({ code }) => code)).toEqual([0, 0])
    expect(project.remains()).toEqual([])
  })

  test(`if ${runner} itself is killed, the next sweep removes everything`, async () => {
    await using project = open()
    const run = project.startTests(only)
    await until('the test runs', () => running(project).length === 1)
    run.child.kill('SIGKILL')
    await until('it is gone', () => !isRunning(run.pid))
    expect(project.leftovers()).toHaveLength(1)
    expect((await project.stint(['sweep'])).code).toBe(0)
    expect(project.leftovers()).toEqual([])
  })
}

/** Summarizes a run: what it left, and where the scratches were whose paths its tests printed. */
export function describeScratches(
  project: TestProject,
  { code, printed }: { code: number | null; printed: string },
) {
  const scratches = new Set(printedValues(printed, 'scratch'))
  const runs = [...scratches, ...printedValues(printed, 'tmpdir')].map((path) => dirname(dirname(path)))
  return {
    code,
    remains: project.remains(),
    kept: project.kept(),
    complains: printed.includes('stint:'),
    scratches: scratches.size,
    under: [...new Set(runs)].map((run) => dirname(run)),
  }
}

/**
 * The summary if every test had its own context in one scratch, which also had TMPDIR, and nothing is left.
 */
export const inOneScratch = (
  project: TestProject,
  scratches: number,
): ReturnType<typeof describeScratches> => ({
  code: 0,
  remains: [],
  kept: [],
  complains: false,
  scratches,
  under: [project.runs],
})

/** Tests `keep: on-failure`. In `outcomes`, only the failing test `outcomes > fails` makes a file. */
export function testKeptOnFailure(runner: TestRunner, outcomes: string): void {
  test('keep: on-failure keeps the files of a failing test, and prints their path and its name', async () => {
    await using project = new TestProject(runner, { 'outcomes.test.js': outcomes })
    const { code, printed } = await project.test(['outcomes'], { STINT_TEST_KEEP: 'on-failure' })
    const [kept = '', ...more] = project.kept()
    expect({ code, more, remains: project.remains() }).toEqual({ code: 1, more: [], remains: [] })
    expect(printed).toContain(`stint: kept the files of "outcomes > fails" for a day: ${kept}\n`)
    expect(readFileSync(join(kept, 'in/evidence.txt'), 'utf8')).toBe('what it was')
    expect((await project.stint(['sweep'])).code).toBe(0)
    expect(project.kept()).toEqual([kept])
  })
}
