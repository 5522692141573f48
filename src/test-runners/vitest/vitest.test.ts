import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { blocksOf } from '../../../test/support/doc-blocks.ts'
import { printedValues, TestProject } from '../../../test/support/test-project.ts'
import {
  describeScratches,
  inOneScratch,
  testKeptOnFailure,
  testRunner,
} from '../../../test/support/runner-suite.ts'

const imports = `
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, withScratch } from 'stint/vitest'
import { afterAll, afterEach, beforeAll, describe, expect, test as plain } from 'vitest'
`

test.each(['forks', 'threads', 'vmThreads', 'forks --no-isolate --maxWorkers 1'])(
  'pool %s: every test has its own context in one scratch of the run; nothing is left',
  async (pool) => {
    const prints = `${imports}
      describe('group', () => {
        test.for([1, 2])('test %i', (_, { scratch }) => {
          console.log('scratch=' + scratch.path, 'tmpdir=' + tmpdir())
          expect(scratch.name).toMatch(/^group > test \\d$/)
          writeFileSync(scratch.file('socket'), 'x')
        })
      })`
    await using project = new TestProject('vitest', { 'a.test.js': prints, 'b.test.js': prints })
    const result = await project.test(['--pool', ...pool.split(' ')])
    expect(describeScratches(project, result)).toEqual(inOneScratch(project, 4))
  },
)

test('a worker that is killed during a test leaves nothing behind after the run', async () => {
  const killed = `${imports}
    test('is killed', ({ scratch }) => {
      scratch.file('half', 'written')
      scratch.track(scratch.file('x') && join(process.cwd(), 'elsewhere'))
      mkdtempSync(join(tmpdir(), 'from-code-under-test-'))
      console.log('scratch=' + scratch.path)
      process.kill(process.pid, 'SIGKILL')
    })`
  await using project = new TestProject('vitest', { 'killed.test.js': killed, elsewhere: 'goes, too' })
  const { code, printed } = await project.test(['--pool', 'forks'], { STINT_TEST_KEEP: 'on-failure' })
  expect(code).toBe(1)
  expect(printed).toContain('Worker exited unexpectedly')
  expect(printed).toContain('✓ sort-lines.test.js')
  expect({ remains: project.remains(), kept: project.kept() }).toEqual({ remains: [], kept: [] })
  expect(existsSync(join(project.path, 'elsewhere'))).toBe(false)
})

const outcomes = `${imports}
  const keeping = withScratch(plain, { keep: 'always' })
  describe('outcomes', () => {
    test('passes', ({ scratch }) => void scratch.file('fine.txt'))
    test('fails', ({ scratch }) => {
      scratch.file('in/evidence.txt', 'what it was')
      expect(1).toBe(2)
    })
    test('fails without a file', () => expect(1).toBe(2))
    test.fails('fails as it should', ({ scratch }) => {
      scratch.file('expected.txt')
      expect(1).toBe(2)
    })
    keeping('keeps by its own wish', ({ scratch }) => void scratch.file('mine.txt'))
  })`

testKeptOnFailure('vitest', outcomes)

test('keep: never, the default, keeps only the files of tests that override it; always keeps all', async () => {
  await using project = new TestProject('vitest', { 'outcomes.test.js': outcomes })
  await project.test(['outcomes'])
  expect(project.kept().flatMap((path) => readdirSync(path))).toEqual(['mine.txt'])
  await project.test(['outcomes'], { STINT_TEST_KEEP: 'always' })
  expect(project.kept()).toHaveLength(1 + 4)
  expect(project.remains()).toEqual([])
})

const leaks = `${imports}
  const outside = mkdtempSync(join(tmpdir(), 'top-'))
  let shared
  beforeAll(() => { shared = mkdtempSync(join(tmpdir(), 'shared-')) })
  afterAll(() => rmSync(shared, { recursive: true }))
  let hooked
  afterEach(() => hooked && rmSync(hooked, { recursive: true, force: true }))
  const fixture = plain.extend({
    dir: async ({}, use) => {
      const dir = mkdtempSync(join(tmpdir(), 'fixture-'))
      await use(dir)
      rmSync(dir, { recursive: true })
    },
  })
  plain('is clean', () => writeFileSync(join(shared, 'x'), ''))
  plain('leaves a directory', () => { mkdtempSync(join(tmpdir(), 'forgotten-')) })
  plain('cleans up in a hook', () => { hooked = mkdtempSync(join(tmpdir(), 'hooked-')) })
  fixture('cleans up in a fixture', ({ dir }) => writeFileSync(join(dir, 'x'), ''))
  describe.concurrent('at once', () => {
    plain('one', async () => { writeFileSync(join(tmpdir(), 'whose'), ''); await new Promise(setImmediate) })
    plain('two', async () => { await new Promise(setImmediate) })
  })`

test('the commands of the guide count what a suite leaves, by the helper that made it', async () => {
  const helper = `${imports}
    const convert = () => mkdtempSync(join(tmpdir(), 'convert-'))
    plain.for([1, 2, 3])('converts %i', () => { convert() })
    plain('converts two', () => { convert(); convert(); mkdtempSync(join(tmpdir(), 'fixture-')) })`
  await using project = new TestProject('vitest', { 'helper.test.js': helper })
  const { code = '' } = blocksOf('docs/testing.md').find(({ language }) => language === 'bash') ?? {}
  const script = code.replace('npx vitest', 'node node_modules/vitest/vitest.mjs')
  const { stdout } = await project.start('sh', ['-c', script], { cwd: project.path }).finished
  expect(stdout.trim().split(/\s*\n\s*/)).toEqual(['4', '5 convert', '1 fixture'])
})

test('leaks: warn, the default, names exactly the tests that leave files in TMPDIR', async () => {
  await using project = new TestProject('vitest', { 'leaks.test.js': leaks })
  const { code, printed } = await project.test(['leaks'])
  expect(code).toBe(0)
  expect(
    printed.match(/stint: left in TMPDIR by [^(\n]*/g)?.map((line) => line.replaceAll(/-\w{6}\b/g, '')),
  ).toEqual([
    'stint: left in TMPDIR by the test "leaves a directory": forgotten ',
    'stint: left in TMPDIR by one of these tests, which ran at once: "at once > one", "at once > two": whose ',
    'stint: left in TMPDIR by leaks.test.js, outside its tests: top ',
  ])
  expect(project.remains()).toEqual([])
})

test('leaks: fail fails the tests that leave files, and no others', async () => {
  await using project = new TestProject('vitest', { 'leaks.test.js': leaks })
  const { code, printed } = await project.test(['leaks', '--reporter', 'verbose'], {
    STINT_TEST_LEAKS: 'fail',
  })
  expect(code).toBe(1)
  expect(printed).toContain('× leaks.test.js > leaves a directory')
  expect(printed).toContain('Error: left in TMPDIR by the test "leaves a directory": forgotten-')
  expect(printed).toContain('✓ leaks.test.js > is clean')
  expect(printed).toContain('✓ leaks.test.js > cleans up in a hook')
  expect(printed).toContain('✓ leaks.test.js > cleans up in a fixture')
  expect(project.remains()).toEqual([])
})

test('leaks: off prints nothing, and the files are removed with the run', async () => {
  await using project = new TestProject('vitest', { 'leaks.test.js': leaks })
  const { code, printed } = await project.test(['leaks'], { STINT_TEST_LEAKS: 'off' })
  expect(code).toBe(0)
  expect(printed).not.toContain('stint:')
  expect(project.remains()).toEqual([])
})

test('without the setup file, the run still reports leaks, and fails if configured to', async () => {
  const config = (env: string): string =>
    `export default { test: { globalSetup: ['stint/vitest/global-setup'], env: ${env} } }`
  await using project = new TestProject('vitest', {
    'leaks.test.js': `${imports} plain('leaves a file', () => writeFileSync(join(tmpdir(), 'forgotten'), ''))`,
    'vitest.config.js': config('{}'),
  })
  const warned = await project.test(['leaks'])
  expect(warned.code).toBe(0)
  expect(warned.printed).toContain('stint: left in TMPDIR by code outside all watched tests: forgotten')
  writeFileSync(join(project.path, 'vitest.config.js'), config(`{ STINT_TEST_LEAKS: 'fail' }`))
  const failed = await project.test(['leaks'])
  expect(failed.printed).toContain('left in TMPDIR by code outside all watched tests: forgotten')
  expect(failed.code).toBe(1)
  expect(project.remains()).toEqual([])
})

test('without a global setup, a test file has its own scratch, which is removed with it', async () => {
  const prints = `${imports}
    test('works', ({ scratch }) => console.log('scratch=' + scratch.file('x')))`
  await using project = new TestProject('vitest', {
    'a.test.js': prints,
    'b.test.js': prints,
    'vitest.config.js': 'export default {}',
  })
  const { code, printed } = await project.test(['a.test', 'b.test'])
  const runs = printedValues(printed, 'scratch').map((path) => dirname(dirname(path)))
  expect(code).toBe(0)
  expect(runs.every((path) => basename(path).startsWith('req_'))).toBe(true)
  expect(new Set(runs).size).toBe(2)
  expect(project.remains()).toEqual([])
})

const held = `${imports}
  test('waits for a signal', async ({ scratch }) => {
    const file = scratch.file('mine', 'untouched')
    console.log('scratch=' + file)
    writeFileSync(join(process.cwd(), 'running-' + process.pid), '')
    while (!existsSync(join(process.cwd(), 'go'))) await new Promise((resolve) => setTimeout(resolve, 10))
    expect(existsSync(file)).toBe(true)
  }, 100_000)`

testRunner('vitest', { held, guide: { Vitest: 3, 'Moving from something else': 2 } })

test('in `stint run`, tests without a global setup use the scratch of that run', async () => {
  const prints = `${imports}
    test('works', ({ scratch }) => console.log('scratch=' + scratch.path, 'run=' + process.env.STINT_TMP_DIR))`
  await using project = new TestProject('vitest', {
    'a.test.js': prints,
    'vitest.config.js': 'export default {}',
  })
  const vitest = [process.execPath, 'node_modules/vitest/vitest.mjs', 'run', 'a.test']
  const { code, stdout } = await project.stint(['run', '--', ...vitest], { cwd: project.path })
  expect(code).toBe(0)
  const [scratch = ''] = printedValues(stdout, 'scratch')
  expect([dirname(dirname(scratch))]).toEqual(printedValues(stdout, 'run'))
  expect(project.remains()).toEqual([])
})
