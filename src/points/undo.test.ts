import { chmodSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { PointWorld } from '../../test/support/point-world.ts'

let world: PointWorld
beforeEach(() => {
  world = new PointWorld()
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await world[Symbol.asyncDispose]()
})

const lines = (...changed: readonly string[]): string =>
  Array.from({ length: 12 }, (_, index) => changed[index] || `line ${index + 1}`).join('\n') + '\n'

test('undoing one session keeps what another session changed in the same file', async () => {
  world.write({ 'a.txt': lines(), 'b.txt': 'b\n', 'c.txt': 'c\n', 'mine.txt': 'mine\n' })
  world.commit()
  world.write({ 'mine.txt': 'not committed\n' })
  const claude = await world.turn('claude-1', () =>
    world.write({ 'a.txt': lines('by claude'), 'c.txt': null, 'new.txt': 'new\n' }),
  )
  await world.turn('codex-1', () =>
    world.write({
      'a.txt': lines('by claude', '', '', '', '', '', '', '', '', '', '', 'by codex'),
      'b.txt': 'B\n',
    }),
  )
  const before = world.files()
  const gitState = world.gitState()
  const undo = await world.undo([claude.id])
  expect(world.read('a.txt')).toBe(lines('', '', '', '', '', '', '', '', '', '', '', 'by codex'))
  expect(Object.fromEntries(['b.txt', 'c.txt', 'mine.txt'].map((name) => [name, world.read(name)]))).toEqual({
    'b.txt': 'B\n',
    'c.txt': 'c\n',
    'mine.txt': 'not committed\n',
  })
  expect([...world.files().keys()]).toEqual(['a.txt', 'b.txt', 'c.txt', 'mine.txt'])
  await world.undo([undo.id])
  expect(world.files()).toEqual(before)
  expect(world.gitState()).toEqual(gitState)
})

test('lines that were changed again since are a conflict, and nothing is written', async () => {
  world.write({ 'a.txt': lines(), 'b.txt': 'b\n' })
  world.commit()
  const claude = await world.turn('claude-1', () => world.write({ 'a.txt': lines('claude'), 'b.txt': 'B\n' }))
  world.write({ 'a.txt': lines('a person') })
  const before = world.files()
  await expect(world.undo([claude.id])).rejects.toMatchObject({
    code: 'UNDO_CONFLICT',
    message: expect.stringContaining('a.txt: the same lines were changed since'),
  })
  expect(world.files()).toEqual(before)
  await world.undo([claude.id], { paths: ['b.txt'] })
  expect([world.read('a.txt'), world.read('b.txt')]).toEqual([lines('a person'), 'b\n'])
})

test('files become directories and links again, and keep their permissions', async () => {
  world.write({ a: 'a file\n', 'd/one': '1\n', 'd/two': '2\n', 'run.sh': '#!/bin/sh\n', secret: 's\n' })
  world.link('l', 'a')
  chmodSync(join(world.repo, 'run.sh'), 0o755)
  chmodSync(join(world.repo, 'secret'), 0o600)
  world.commit()
  const before = world.files()
  const turn = await world.turn('claude-1', () => {
    world.write({ a: null, d: null, l: null })
    world.write({ 'a/b/c': 'deep\n', d: 'a file now\n', l: 'a file now\n', 'run.sh': 'x\n', secret: 't\n' })
    chmodSync(join(world.repo, 'run.sh'), 0o644)
  })
  await world.undo([turn.id])
  expect(world.files()).toEqual(before)
  expect(statSync(join(world.repo, 'secret')).mode & 0o777).toBe(0o600)
})
