import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { anyCharacter } from '../../test/support/any-character.ts'
import { useScratchWorld } from '../../test/support/scratch-world.ts'
import { inRemovalOrder } from './tracked.ts'

const here = useScratchWorld()

test('cleaning one context leaves another and its files', () => {
  const { scratch, outside } = here
  const [a, b] = [scratch.context('a'), scratch.context('b')]
  const gone = [a.file('same'), a.dir('d'), a.track(outside('elsewhere-a'))]
  const stays = [b.file('same', 'of b'), b.dir('d'), b.track(outside('elsewhere-b'))]
  expect(a.clean()).toMatchObject({ removed: 4, failures: [] })
  expect(gone.filter(existsSync)).toEqual([])
  expect(stays.filter(existsSync)).toEqual(stays)
  expect(readFileSync(stays[0] ?? '', 'utf8')).toBe('of b')
})

test('two contexts of the same name are separate', () => {
  const { scratch } = here
  const [one, two] = [scratch.context('same'), scratch.context('same')]
  const file = two.file('f')
  one.file('f')
  one.clean()
  expect(existsSync(file)).toBe(true)
})

test('cleaning an outer context cleans its inner ones and their tracked paths, never the reverse', () => {
  const { scratch, outside } = here
  const outer = scratch.context('describe')
  const inner = outer.context('it')
  expect(inner.name).toBe('describe > it')
  const files = [inner.file(), inner.context('deeper').file(), inner.track(outside('tracked'))]
  const own = outer.file()
  expect(inner.clean().failures).toEqual([])
  expect([files.some(existsSync), existsSync(own)]).toEqual([false, true])
  const again = [inner.file('again'), inner.track(outside('tracked'))]
  outer.clean()
  expect([own, ...again].filter(existsSync)).toEqual([])
})

test('a cleaned context and its inner contexts can be used again', () => {
  const { scratch } = here
  const outer = scratch.context('outer')
  const inner = outer.context('inner')
  inner.file('x', '1')
  outer.clean()
  const file = inner.file('x', '2')
  expect(readFileSync(file, 'utf8')).toBe('2')
  expect(outer.clean().failures).toEqual([])
  expect(existsSync(file)).toBe(false)
})

test('an inner context of a kept context can be used again', () => {
  const { scratch } = here
  const outer = scratch.context('outer')
  const inner = outer.context('inner')
  inner.file('x', '1')
  const kept = outer.keep()
  const file = inner.file('x', '2')
  expect(readdirSync(kept, { recursive: true })).toContainEqual(expect.stringMatching(/-inner\/x$/))
  outer.clean()
  expect([existsSync(file), existsSync(kept)]).toEqual([false, true])
})

test('a path tracked by a cleaned context is removed with the outer context', () => {
  const { scratch, outside } = here
  const outer = scratch.context('outer')
  const inner = outer.context('middle').context('inner')
  inner.clean()
  const tracked = inner.track(outside('later'))
  outer.clean()
  expect(existsSync(tracked)).toBe(false)
})

test('a context that is never used makes no directory', () => {
  const { scratch } = here
  scratch.context('idle').clean()
  expect(readdirSync(scratch.path)).toEqual([])
})

test('tracked files are removed before directories, and deeper directories before outer ones', () => {
  const { world, scratch, outside } = here
  const context = scratch.context('order')
  mkdirSync(join(world.tmp, 'a/b/c'), { recursive: true })
  const paths = ['a', 'a/b/c', 'a/b'].map((path) => join(world.tmp, path))
  const tracked = [...paths, outside('a/b/file'), outside('z')].map((path) => context.track(path))
  const ordered = inRemovalOrder(tracked.map((path) => ({ path, parent: null, file: null })))
  expect(ordered.map(({ path }) => relative(world.tmp, path))).toEqual(['a/b/file', 'z', 'a/b/c', 'a/b', 'a'])
  // If `a` went first, its contents would be counted with it, and again as paths that are gone.
  expect(context.clean()).toMatchObject({ removed: 5, failures: [] })
})

test('a path that is already gone counts as removed', () => {
  const { world, scratch } = here
  const context = scratch.context('gone')
  context.track(join(world.tmp, 'never-there'))
  expect(context.clean()).toEqual({ removed: 1, bytes: 0, disk_bytes: 0, failures: [], complete: true })
})

test('clean counts bytes if asked to', () => {
  const { scratch } = here
  const context = scratch.context('size')
  context.file('a', 'x'.repeat(1000))
  context.dir('d')
  context.file('d/b', 'y'.repeat(500))
  expect(context.clean({ measure: true })).toMatchObject({ bytes: 1500 })
})

test('a file that cannot be deleted is reported, and everything else is removed', async () => {
  const { world } = here
  const program = `
    import { createScratch } from ${JSON.stringify(join(import.meta.dirname, '../../dist/index.js'))}
    import { execFileSync } from 'node:child_process'
    import { existsSync, writeFileSync } from 'node:fs'
    const scratch = createScratch()
    const context = scratch.context('stubborn')
    const stubborn = context.file('mounted')
    writeFileSync('elsewhere', '')
    const others = [context.file('other'), context.track('elsewhere')]
    // A file that something is mounted on cannot be deleted.
    execFileSync('mount', ['--bind', stubborn, stubborn])
    const { failures } = context.clean()
    const left = others.filter((path) => existsSync(path))
    console.log(JSON.stringify({ stubborn, failures, left, there: existsSync(stubborn) }))
    process.kill(process.pid, 'SIGKILL')`
  const node = [process.execPath, '--input-type=module', '-e', program]
  const script = 'cd "$0" && "$@"'
  const { stdout } = await world.unshare(['--mount'], 'sh', ['-c', script, world.tmp, ...node])
  const { stubborn, ...seen } = JSON.parse(stdout) as Record<string, unknown>
  expect(seen).toEqual({
    failures: [{ path: stubborn, type: 'file', error: 'EBUSY' }],
    left: [],
    there: true,
  })
})

test('withFile and withDir clean up after success and after an error, which they pass on', async () => {
  const { scratch } = here
  const seen: string[] = []
  const result = await scratch.withFile(
    (path) => {
      seen.push(path)
      return readFileSync(path, 'utf8')
    },
    { name: 'in.json', content: '{}' },
  )
  expect(result).toBe('{}')
  const wrong = new Error('wrong')
  const failing = scratch.context('c').withDir(async (path) => {
    seen.push(path)
    writeFileSync(join(path, 'left'), '')
    throw wrong
  })
  await expect(failing).rejects.toBe(wrong)
  expect(seen).toHaveLength(2)
  expect(seen.filter(existsSync)).toEqual([])
})

test('withDir returns the result of its callback, even if the directory is already gone', async () => {
  const { scratch } = here
  const use = (path: string): string => {
    rmdirSync(path)
    return 'result'
  }
  await expect(scratch.withDir(use)).resolves.toBe('result')
})

test('a kept context outlives the scratch until a sweep removes it after its expiry', () => {
  const { scratch } = here
  const context = scratch.context('failing test')
  context.file('evidence', 'here')
  const kept = context.keep(60)
  scratch.remove()
  expect(readFileSync(join(kept, 'evidence'), 'utf8')).toBe('here')
  expect(dirname(dirname(kept))).toBe(scratch.root.out)
  expect(basename(dirname(kept))).toContain(scratch.requestId)
  const log = readFileSync(join(dirname(kept), '.stint/contexts.log'), 'utf8')
  expect(JSON.parse(log)).toEqual({ dir: basename(kept), name: 'failing test', file: null })
})

test('the log names the context of each directory', () => {
  const { scratch } = here
  const inner = scratch
    .context('describe', { file: 'a.test.ts' })
    .context('it "works"\n', { file: 'a.test.ts' })
  const lines = (): unknown[] =>
    readFileSync(join(scratch.path, '.stint/contexts.log'), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
  const { path } = inner
  expect(lines()).toContainEqual({
    dir: relative(scratch.path, path),
    name: 'describe > it "works"\n',
    file: 'a.test.ts',
  })
  expect(lines()).toHaveLength(2)
  expect(statSync(join(scratch.path, '.stint/contexts.log')).mode & 0o777).toBe(0o600)
})

test('a context can have any name; its directory has a short, safe and unique one', () => {
  const { scratch } = here
  fc.assert(
    fc.property(fc.string({ maxLength: 400, unit: anyCharacter }), (name) => {
      const context = scratch.context(name)
      const part = basename(context.path)
      expect(part).toMatch(/^\d+-[a-z0-9-]{0,16}$/)
      expect(dirname(context.path)).toBe(scratch.path)
    }),
    { numRuns: 30 },
  )
})

test('contexts cleaned in any order remove only their own files', () => {
  const { scratch } = here
  const count = 12
  fc.assert(
    fc.property(fc.shuffledSubarray([...Array(count).keys()], { minLength: count }), (order) => {
      const contexts = order.map((each) => scratch.context(`context ${each}`))
      const files = contexts.map((context) => Array.from({ length: 4 }, () => context.file()))
      for (const [place, at] of order.entries()) {
        expect(contexts[at]?.clean()).toMatchObject({ removed: 5, failures: [] })
        const gone = new Set(order.slice(0, place + 1))
        for (const [index, own] of files.entries())
          expect(own.filter((path) => existsSync(path))).toEqual(gone.has(index) ? [] : own)
      }
    }),
    { numRuns: 10 },
  )
})
