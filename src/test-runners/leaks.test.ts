import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createScratch } from '../scratch/scratch.ts'
import { LeakWatch } from './leaks.ts'

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

test('a file that a test leaves is reported once, with that test', () => {
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

test('concurrent tests are judged together, after the last one has ended', () => {
  using tmp = watched()
  tmp.watch.begin('a')
  tmp.leave('temporary')
  tmp.watch.begin('b')
  tmp.leave('unattributed')
  expect(tmp.watch.end('b')).toBe(undefined)
  tmp.take('temporary')
  expect(tmp.watch.end('a')).toEqual({ entries: ['unattributed'], tests: ['a', 'b'] })
})

test('a file that a subtest leaves is reported with its outermost test', () => {
  using tmp = watched()
  tmp.watch.begin('outer')
  tmp.watch.begin('outer > inner')
  tmp.leave('deep')
  expect(tmp.watch.end('outer > inner')).toBe(undefined)
  expect(tmp.watch.end('outer')).toEqual({ entries: ['deep'], tests: ['outer'] })
})

test('a test that never ends is reported at the end of its file', () => {
  using tmp = watched()
  tmp.watch.begin('hangs')
  tmp.leave('half')
  expect(tmp.watch.close()).toEqual({ entries: ['half'], tests: ['hangs'] })
})

test('caches of Node are no leaks, nor is a temp directory that was removed', () => {
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
