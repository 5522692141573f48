import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { TestRunner } from './runner-packages.ts'
import { TestProject } from './test-project.ts'
import { isRunning, until } from './world.ts'

const running = (project: TestProject): string[] =>
  readdirSync(project.path).filter((name) => name.startsWith('running-'))

/** What holds for every runner. `held` is a test file whose test says that it is running and waits for the file `go`. */
export function testRunsBeside(runner: TestRunner, held: string): void {
  const open = (): TestProject => new TestProject(runner, { 'held.test.js': held })
  const only = [runner === 'node-test' ? 'held.test.js' : 'held']

  test('two runs at once do not see each other, and a sweep beside them takes nothing', async () => {
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

  test(`if ${runner} itself is killed, the next sweep takes everything`, async () => {
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
