import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { printedValues, TestProject } from '../../../test/support/test-project.ts'
import {
  describeScratches,
  inOneScratch,
  testKeptOnFailure,
  testRunner,
} from '../../../test/support/runner-suite.ts'

const imports = `
const { existsSync, mkdtempSync, rmSync, writeFileSync } = require('node:fs')
const { tmpdir } = require('node:os')
const { join } = require('node:path')
const { scratch } = require('stint/jest')
`

const prints = `
  describe('group', () => {
    let early
    beforeEach(() => { early = scratch() })
    test.each([1, 2])('test %i', () => {
      expect(scratch()).toBe(early)
      expect(scratch().name).toMatch(/^group > test \\d$/)
      scratch().file('x')
      expect(process.env.TMPDIR).toBe(tmpdir())
      console.log('scratch=' + scratch().path, 'tmpdir=' + tmpdir())
    })
  })`

const asModule = `
  import { tmpdir } from 'node:os'
  import { scratch } from 'stint/jest'
  ${prints}`

test('every test has its own context in one scratch of the run; nothing is left', async () => {
  await using project = new TestProject('jest', {
    'a.test.js': imports + prints,
    'b.test.js': imports + prints,
    'c.test.mjs': asModule,
  })
  const modules = { NODE_OPTIONS: '--experimental-vm-modules' }
  const everyFile = ['--testMatch', '**/*.test.js', '--testMatch', '**/*.test.mjs']
  const result = await project.test(everyFile, modules)
  expect(describeScratches(project, result)).toEqual(inOneScratch(project, 6))
})

test('a worker that is killed during a test leaves nothing behind after the run', async () => {
  const killed = `${imports}
    test('is killed', () => {
      scratch().file('half', 'written')
      mkdtempSync(join(tmpdir(), 'from-code-under-test-'))
      process.kill(process.pid, 'SIGKILL')
    })`
  await using project = new TestProject('jest', { 'killed.test.js': killed })
  const { code, printed } = await project.test([], { STINT_TEST_KEEP: 'on-failure' })
  expect(code).toBe(1)
  expect(printed).toContain('signal=SIGKILL')
  expect(printed).toContain('PASS ./sort-lines.test.js')
  expect({ remains: project.remains(), kept: project.kept() }).toEqual({ remains: [], kept: [] })
})

const outcomes = `${imports}
  describe('outcomes', () => {
    test('passes', () => void scratch().file('fine.txt'))
    test('fails', () => {
      scratch().file('in/evidence.txt', 'what it was')
      expect(1).toBe(2)
    })
    test('fails without a file', () => expect(1).toBe(2))
    test.failing('fails as it should', () => {
      scratch().file('expected.txt')
      expect(1).toBe(2)
    })
  })`

testKeptOnFailure('jest', outcomes)

test('keep is never by default; the configuration overrides that, and the environment overrides both', async () => {
  const options = { testEnvironmentOptions: { stint: { keep: 'always' } } }
  await using project = new TestProject('jest', { 'outcomes.test.js': outcomes })
  await project.test(['outcomes'])
  expect(project.kept()).toEqual([])
  writeFileSync(
    join(project.path, 'jest.config.js'),
    `${readFileSync(join(project.path, 'jest.config.js'), 'utf8')}
     Object.assign(module.exports, ${JSON.stringify(options)})`,
  )
  await project.test(['outcomes'], { STINT_TEST_KEEP: 'never' })
  expect(project.kept()).toEqual([])
  await project.test(['outcomes'])
  expect(project.kept()).toHaveLength(3)
  expect(project.remains()).toEqual([])
})

const outside = `${imports}
  mkdtempSync(join(tmpdir(), 'top-'))
  test('is there', () => {})`

const leaks = `${imports}
  let shared
  beforeAll(() => { shared = mkdtempSync(join(tmpdir(), 'shared-')) })
  afterAll(() => rmSync(shared, { recursive: true }))
  let hooked
  afterEach(() => hooked && rmSync(hooked, { recursive: true, force: true }))
  test('is clean', () => writeFileSync(join(shared, 'x'), ''))
  test('leaves a directory', () => { mkdtempSync(join(tmpdir(), 'forgotten-')) })
  test('cleans up in a hook', () => { hooked = mkdtempSync(join(tmpdir(), 'hooked-')) })
  describe('at once', () => {
    test.concurrent('one', async () => { writeFileSync(join(tmpdir(), 'whose'), ''); await new Promise(setImmediate) })
    test.concurrent('two', async () => { await new Promise(setImmediate) })
  })`

test('leaks: warn, the default, names exactly the tests that leave files in TMPDIR', async () => {
  await using project = new TestProject('jest', { 'leaks.test.js': leaks, 'outside.test.js': outside })
  const { code, printed } = await project.test(['--runInBand'])
  expect(code).toBe(0)
  const reported = printed
    .match(/stint: left in TMPDIR by [^(\n]*/g)
    ?.map((line) => line.replaceAll(/-\w{6}\b/g, ''))
  expect(reported?.sort()).toEqual([
    'stint: left in TMPDIR by one of these tests, which ran at once: "at once > one", "at once > two": whose ',
    'stint: left in TMPDIR by outside.test.js, outside its tests: top ',
    'stint: left in TMPDIR by the test "leaves a directory": forgotten ',
  ])
  expect(project.remains()).toEqual([])
})

test('leaks: fail fails the tests that leave files, and no others', async () => {
  await using project = new TestProject('jest', { 'leaks.test.js': leaks, 'outside.test.js': outside })
  const { code, printed } = await project.test(['--runInBand', '--verbose'], { STINT_TEST_LEAKS: 'fail' })
  expect(code).toBe(1)
  expect(printed).toContain('✕ leaves a directory')
  expect(printed).toContain('left in TMPDIR by the test "leaves a directory": forgotten-')
  expect(printed).toContain('✓ is clean')
  expect(printed).toContain('✓ cleans up in a hook')
  expect(printed).toContain('left in TMPDIR by outside.test.js, outside its tests: top-')
  expect(project.remains()).toEqual([])
})

test('the error of scratch() says what is missing: the environment, or a test that runs alone', async () => {
  const source = `${imports}
    beforeAll(() => { try { scratch() } catch (error) { console.log(error.message) } })
    test('is alone', () => { throw scratch() })
    test.concurrent('is not alone', async () => { throw scratch() })
    test.concurrent('is not alone either', async () => { await new Promise(setImmediate) })`
  const single = `${imports}
    test.concurrent('is the only one', async () => { scratch() })`
  await using project = new TestProject('jest', { 'alone.test.js': source, 'single.test.js': single })
  const together = await project.test(['alone'])
  expect(together.printed).toContain('scratch() belongs in a test or its beforeEach')
  expect(together.printed).toContain('scratch() does not work in test.concurrent')
  const one = await project.test(['single'])
  expect([one.code, one.printed]).toEqual([1, expect.stringContaining('does not work in test.concurrent')])
  const without = await project.test(['alone', '--env', 'node'])
  expect(without.printed).toContain('scratch() needs the Jest environment of stint')
  expect(project.remains()).toEqual([])
})

test('without a global setup, a test file has its own scratch, which is removed with it', async () => {
  await using project = new TestProject('jest', {
    'a.test.js': imports + prints,
    'b.test.js': imports + prints,
    'jest.config.js': `module.exports = { testEnvironment: 'stint/jest/environment' }`,
  })
  const { code, printed } = await project.test(['a.test', 'b.test'])
  const runs = printedValues(printed, 'scratch').map((path) => dirname(path))
  expect(code).toBe(0)
  expect(new Set(runs).size).toBe(2)
  expect(new Set(runs.map((path) => dirname(path)))).toEqual(new Set([project.runs]))
  expect(project.remains()).toEqual([])
})

const held = `${imports}
  test('waits for a signal', async () => {
    const file = scratch().file('mine')
    writeFileSync(join(process.cwd(), 'running-' + process.pid), '')
    while (!existsSync(join(process.cwd(), 'go'))) await new Promise((resolve) => setTimeout(resolve, 10))
    expect(existsSync(file)).toBe(true)
  }, 100_000)`

testRunner('jest', { held, guide: { Jest: 2 } })
