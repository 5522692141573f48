import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createScratch } from '../scratch/scratch.ts'
import { LeakWatch } from './leak-watch.ts'

function watched(): {
  watch: LeakWatch
  leave: (name: string) => void
  take: (name: string) => void
} & Disposable {
  const scratch = createScratch()
  const tmp = scratch.dir('tmp')
  return {
    watch: new LeakWatch(tmp),
    leave: (name) => writeFileSync(join(tmp, name), ''),
    take: (name) => rmSync(join(tmp, name)),
    [Symbol.dispose]: () => scratch[Symbol.dispose](),
  }
}

test('what a test leaves is told once, as its own', () => {
  using tmp = watched()
  tmp.leave('before')
  tmp.watch.begin('first')
  tmp.leave('mine')
  expect(tmp.watch.end('first')).toEqual({ entries: ['mine'], tests: ['first'] })
  tmp.watch.begin('second')
  expect(tmp.watch.end('second')).toBe(undefined)
  expect(tmp.watch.close()).toEqual({ entries: ['before'], tests: [] })
  expect(tmp.watch.close()).toBe(undefined)
})

test('tests that run at once are judged together, when the last has ended and could clean up', () => {
  using tmp = watched()
  tmp.watch.begin('a')
  tmp.leave('of a, for a while')
  tmp.watch.begin('b')
  tmp.leave('whose')
  expect(tmp.watch.end('b')).toBe(undefined)
  tmp.take('of a, for a while')
  expect(tmp.watch.end('a')).toEqual({ entries: ['whose'], tests: ['a', 'b'] })
})

test('what a subtest leaves is its outermost test’s', () => {
  using tmp = watched()
  tmp.watch.begin('outer')
  tmp.watch.begin('outer > inner')
  tmp.leave('deep')
  expect(tmp.watch.end('outer > inner')).toBe(undefined)
  expect(tmp.watch.end('outer')).toEqual({ entries: ['deep'], tests: ['outer'] })
})

test('a test that never ends is named at the end of its file', () => {
  using tmp = watched()
  tmp.watch.begin('hangs')
  tmp.leave('half')
  expect(tmp.watch.close()).toEqual({ entries: ['half'], tests: ['hangs'] })
})

test('caches of Node are no leaks, nor is a temp directory that is gone', () => {
  using scratch = createScratch()
  const tmp = scratch.dir('tmp')
  const watch = new LeakWatch(tmp)
  watch.begin('test')
  mkdirSync(join(tmp, 'node-compile-cache'))
  expect(watch.end('test')).toBe(undefined)
  watch.begin('removes it')
  rmSync(tmp, { recursive: true })
  expect(watch.end('removes it')).toBe(undefined)
})
