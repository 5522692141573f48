import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { printedValues, TestProject } from '../../../test/support/test-project.ts'
import { describeScratches, inOneScratch, testRunner } from '../../../test/support/runner-suite.ts'

const imports = `
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after, afterEach, before, describe, it } from 'node:test'
import { scratch } from 'stint/node-test'
`

const prints = `${imports}
  for (const name of ['one', 'two'])
    test(name, (t) => {
      assert.equal(scratch(t), scratch(t))
      scratch(t).file('x')
      console.log('scratch=' + scratch(t).path, 'tmpdir=' + tmpdir())
    })`

test('every test has its own context in one scratch of the run; nothing is left', async () => {
  await using project = new TestProject('node-test', { 'a.test.js': prints, 'b.test.js': prints })
  const result = await project.test()
  expect(describeScratches(project, result)).toEqual(inOneScratch(project, 4))
})

test('a test file whose process is killed during a test leaves nothing behind after the run', async () => {
  const killed = `${imports}
    test('is killed', (t) => {
      scratch(t).file('half', 'written')
      mkdtempSync(join(tmpdir(), 'from-code-under-test-'))
      process.kill(process.pid, 'SIGKILL')
    })`
  await using project = new TestProject('node-test', { 'killed.test.js': killed })
  const { code, printed } = await project.test([], { STINT_TEST_KEEP: 'on-failure' })
  expect(code).toBe(1)
  expect(printed).toMatch(/✖ .*killed\.test\.js/)
  expect(printed).toContain('✔ sorts a file where it is')
  expect({ remains: project.remains(), kept: project.kept() }).toEqual({ remains: [], kept: [] })
})

const outcomes = `${imports}
  test('passes', (t) => void scratch(t).file('fine.txt'))
  test('fails', (t) => {
    scratch(t).file('in/evidence.txt', 'what it was')
    assert.equal(1, 2)
  })
  test('takes too long', { timeout: 20 }, (t) => {
    scratch(t).file('late.txt')
    const alive = setInterval(() => {}, 1000)
    t.signal.addEventListener('abort', () => clearInterval(alive))
    return new Promise(() => {})
  })
  describe('group', () => it('fails, too', (t) => {
    scratch(t).file('group.txt')
    assert.equal(1, 2)
  }))
  test('outer', async (t) => {
    scratch(t).file('outer.txt')
    await t.test('is fine', (t) => {
      assert.equal(scratch(t).name, 'outer > is fine')
      scratch(t).file('x')
    })
    await t.test('inner', (t) => {
      scratch(t).file('inner.txt')
      assert.equal(1, 2)
    })
  })
  test('keeps by its own wish', (t) => void scratch(t, { keep: 'always' }).file('mine.txt'))`

test('keep: on-failure keeps the files of failing tests, timeouts and subtests, and prints their paths', async () => {
  await using project = new TestProject('node-test', { 'outcomes.test.js': outcomes })
  const { code, printed } = await project.test([], { STINT_TEST_KEEP: 'on-failure' })
  expect({ code, remains: project.remains() }).toEqual({ code: 1, remains: [] })
  const reported = [...printed.matchAll(/stint: kept the files of "(.*)" for a day: (.*)\n/g)]
  expect(reported.map(([, name]) => name)).toEqual([
    'fails',
    'takes too long',
    'group > fails, too',
    'outer > inner',
    'outer',
  ])
  expect(reported.map(([, , path]) => path).sort()).toEqual(project.kept().sort())
  const files = reported.map(([, , path = '']) => readdirSync(path))
  expect(files).toEqual([['in'], ['late.txt'], ['group.txt'], ['inner.txt'], ['outer.txt']])
  expect(readFileSync(join(reported[0]?.[2] ?? '', 'in/evidence.txt'), 'utf8')).toBe('what it was')
  expect((await project.stint(['sweep'])).code).toBe(0)
  expect(project.kept()).toHaveLength(5)
})

test('keep: never, the default, keeps only the files of tests that override it', async () => {
  await using project = new TestProject('node-test', { 'outcomes.test.js': outcomes })
  await project.test(['outcomes.test.js'])
  expect(project.kept().flatMap((path) => readdirSync(path))).toEqual(['mine.txt'])
  expect(project.remains()).toEqual([])
})

const leaks = `${imports}
  const outside = mkdtempSync(join(tmpdir(), 'top-'))
  let shared
  before(() => { shared = mkdtempSync(join(tmpdir(), 'shared-')) })
  after(() => rmSync(shared, { recursive: true }))
  test('is clean', () => writeFileSync(join(shared, 'x'), ''))
  test('leaves a directory', () => { mkdtempSync(join(tmpdir(), 'forgotten-')) })
  test('cleans up after itself', (t) => {
    const dir = mkdtempSync(join(tmpdir(), 'after-'))
    t.after(() => rmSync(dir, { recursive: true }))
  })
  describe('at once', { concurrency: true }, () => {
    it('one', async () => { writeFileSync(join(tmpdir(), 'whose'), ''); await new Promise(setImmediate) })
    it('two', () => new Promise(setImmediate))
  })
  test('outer', async (t) => {
    await t.test('leaves a file', () => writeFileSync(join(tmpdir(), 'deep'), ''))
  })`

test('leaks: warn, the default, names exactly the tests that leave files in TMPDIR', async () => {
  await using project = new TestProject('node-test', { 'leaks.test.js': leaks })
  const { code, printed } = await project.test()
  expect(code).toBe(0)
  const reported = printed
    .match(/stint: left in TMPDIR by [^(\n]*/g)
    ?.map((line) => line.replaceAll(/-\w{6}\b/g, ''))
  expect(reported?.sort()).toEqual([
    'stint: left in TMPDIR by leaks.test.js, outside its tests: top ',
    'stint: left in TMPDIR by one of these tests, which ran at once: "at once > one", "at once > two": whose ',
    'stint: left in TMPDIR by the test "leaves a directory": forgotten ',
    'stint: left in TMPDIR by the test "outer": deep ',
  ])
  expect(project.remains()).toEqual([])
})

test('leaks: fail fails the tests that leave files, and no others', async () => {
  await using project = new TestProject('node-test', { 'leaks.test.js': leaks })
  const { code, printed } = await project.test([], { STINT_TEST_LEAKS: 'fail' })
  expect(code).toBe(1)
  expect(printed).toContain('✖ leaves a directory')
  expect(printed).toContain('left in TMPDIR by the test "leaves a directory": forgotten-')
  expect(printed).toContain('✔ is clean')
  expect(printed).toContain('✔ cleans up after itself')
  expect(project.remains()).toEqual([])
})

test('without the register module, a test file has its own scratch, which is removed with its process', async () => {
  await using project = new TestProject('node-test', { 'a.test.js': prints, 'b.test.js': prints })
  const args = ['--test', 'a.test.js', 'b.test.js']
  const { code, stdout } = await project.start(process.execPath, args, { cwd: project.path }).finished
  expect(code).toBe(0)
  const runs = printedValues(stdout, 'scratch').map((path) => dirname(path))
  expect(new Set(runs).size).toBe(2)
  expect(new Set(runs.map((path) => dirname(path)))).toEqual(new Set([project.runs]))
  expect(project.remains()).toEqual([])
})

test('`stint run -- node --test` needs no register module, even for killed processes', async () => {
  const killed = `${imports} test('is killed', (t) => {
    scratch(t).file('x')
    process.kill(process.pid, 'SIGKILL')
  })`
  await using project = new TestProject('node-test', { 'a.test.js': prints, 'killed.test.js': killed })
  const args = ['run', '--', process.execPath, '--test']
  const { code, stdout } = await project.stint(args, { cwd: project.path })
  expect(code).toBe(1)
  const runs = printedValues(stdout, 'tmpdir')
  expect(new Set(runs).size).toBe(1)
  expect(printedValues(stdout, 'scratch').map((path) => dirname(dirname(path)))).toEqual(runs)
  expect(project.remains()).toEqual([])
})

const held = `${imports}
  test('waits for a signal', async (t) => {
    const file = scratch(t).file('mine')
    writeFileSync(join(process.cwd(), 'running-' + process.pid), '')
    while (!existsSync(join(process.cwd(), 'go'))) await new Promise((resolve) => setTimeout(resolve, 10))
    assert(existsSync(file))
  })`

testRunner('node-test', { held, guide: { 'node:test': 1 } })

test('an invalid option in the code is an error, and nothing is left', async () => {
  const source = `${imports} test('x', (t) => void scratch(t, { keep: 'sometimes' }))`
  await using project = new TestProject('node-test', { 'misspelt.test.js': source })
  const { code, printed } = await project.test()
  expect(code).not.toBe(0)
  expect(printed).toContain('keep must be one of never, on-failure, always, not "sometimes"')
  expect({ remains: project.remains(), kept: project.kept() }).toEqual({ remains: [], kept: [] })
})
