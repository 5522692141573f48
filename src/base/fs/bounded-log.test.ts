import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { projectRoot, until, World } from '../../../test/support/world.ts'
import { appendBoundedLog, GatheredLog, readBoundedLog } from './bounded-log.ts'

const module = JSON.stringify(join(projectRoot, 'dist/base/fs/bounded-log.js'))

test('processes that append at once tear no line, and a rotation loses none of the newest', async () => {
  await using world = new World()
  const path = join(world.tmp, 'log')
  const program = `
    import { appendBoundedLog } from ${module}
    for (let i = 0; i < 400; i++) appendBoundedLog('log', process.argv[1] + ' ' + i + ' ' + 'x'.repeat(i % 90) + '\\n', 20_000)`
  const writers = ['a', 'b', 'c'].map(
    (name) =>
      world.start(process.execPath, ['--input-type=module', '-e', program, name], { cwd: world.tmp })
        .finished,
  )
  for (const ended of await Promise.all(writers)) expect(ended).toMatchObject({ code: 0, stderr: '' })
  const lines = readBoundedLog(path, 20_000)
  for (const line of lines) expect(line).toMatch(/^[abc] \d+ x*$/)
  for (const name of ['a', 'b', 'c']) {
    const numbers = lines.filter((line) => line.startsWith(name)).map((line) => Number(line.split(' ')[1]))
    // What is left of a writer is the end of what it wrote, without a gap.
    expect(numbers).toEqual(numbers.map((_, index) => 400 - numbers.length + index))
  }
  expect(lines.join('\n').length).toBeGreaterThan(20_000)
  expect(statSync(path).size + statSync(`${path}.1`).size).toBeLessThan(41_000)
  expect(statSync(path).mode & 0o777).toBe(0o600)
})

test('the lock of a process that was killed while it rotated counts for ten seconds', async () => {
  await using world = new World()
  const path = join(world.tmp, 'log')
  const lock = `${path}.lock`
  writeFileSync(path, 'x'.repeat(100))
  writeFileSync(lock, '')
  appendBoundedLog(path, 'one\n', 100)
  expect(readFileSync(path, 'utf8')).toMatch(/xone\n$/)
  utimesSync(lock, 0, 1)
  appendBoundedLog(path, 'two\n', 100)
  appendBoundedLog(path, 'three\n', 100)
  expect(readFileSync(path, 'utf8')).toBe('three\n')
  expect(readFileSync(`${path}.1`, 'utf8')).toMatch(/xone\ntwo\n$/)
})

test('a log that cannot be rotated stops at twice its size', async () => {
  await using world = new World()
  const path = join(world.tmp, 'log')
  mkdirSync(join(`${path}.1`, 'in the way'), { recursive: true })
  for (let i = 0; i < 50; i++) appendBoundedLog(path, `${'x'.repeat(9)}\n`, 100)
  expect(statSync(path).size).toBe(200)
})

test('a link, a directory and a FIFO in place of a log are left alone', async () => {
  await using world = new World()
  const at = (name: string): string => join(world.tmp, name)
  writeFileSync(at('victim'), 'precious')
  symlinkSync(at('victim'), at('link'))
  mkdirSync(at('directory'))
  execFileSync('mkfifo', [at('fifo')])
  for (const name of ['link', 'directory', 'fifo', 'missing/log']) {
    expect(() => appendBoundedLog(at(name), 'x\n', 100)).toThrow(/ELOOP|EISDIR|ENXIO|ENOENT/)
    new GatheredLog(at(name), 100).append(() => ['x'])
    expect(readBoundedLog(at(name), 100)).toEqual([])
  }
  expect(readFileSync(at('victim'), 'utf8')).toBe('precious')
})

test('a process writes the first line at once, and gathers the next ones without losing the last', async () => {
  await using world = new World()
  const path = join(world.tmp, 'log')
  const log = new GatheredLog(path, 10_000)
  for (let i = 0; i < 1000; i++) log.append(() => [String(i)])
  expect(readFileSync(path, 'utf8')).toBe('0\n')
  expect(log.read().at(-1)).toBe('999')
  expect(log.read().length).toBeLessThan(20)
  await until('the last line is written', () => readFileSync(path, 'utf8').endsWith('\n999\n'))

  const program = `
    import { GatheredLog } from ${module}
    const log = new GatheredLog('other', 10_000)
    log.append(() => ['first']); log.append(() => ['last'])`
  const node = ['--input-type=module', '-e', program]
  await world.start(process.execPath, node, { cwd: world.tmp }).finished
  expect(readFileSync(join(world.tmp, 'other'), 'utf8')).toBe('first\nlast\n')
})

test('a log that cannot be read is an error for its readers, and empty for a look at its end', () => {
  const path = `/${'long'.repeat(100)}`
  expect(() => readBoundedLog(path, 100)).toThrow('ENAMETOOLONG')
  expect(readBoundedLog(path, 100, 50)).toEqual([])
})
