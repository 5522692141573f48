import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { PointWorld } from '../../test/support/point-world.ts'
import { describeStore, findStore, type PointStore, sweepPoints, takePoint } from './index.ts'
import { isSweepDue } from './sweep-points.ts'

let world: PointWorld
beforeEach(() => {
  world = new PointWorld()
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await world[Symbol.asyncDispose]()
})

const store = (): PointStore => findStore(world.repo) as PointStore

const day = 24 * 3_600_000

/** The user forgets the commit that the first point was seeded from, for good. */
function forgetHistory(): void {
  world.git('checkout', '-q', '--orphan', 'new')
  world.git('rm', '-q', '-r', '-f', '.')
  world.write({ 'b.txt': 'another history\n' })
  world.commit('new')
  world.git('branch', '-q', '-D', 'main')
  world.git('reflog', 'expire', '--expire=now', '--all')
  world.git('gc', '-q', '--prune=now')
}

test('after a sweep a store stands alone: git gc of the user takes nothing from it', async () => {
  world.write({ 'a.txt': 'a\n' })
  world.commit()
  const turn = await world.turn('claude-1', () => world.write({ 'a.txt': null }))
  expect(await sweepPoints()).toEqual([
    { directory: store().directory, removedPoints: 0, bytesFreed: expect.any(Number) },
  ])
  forgetHistory()
  await world.undo([turn.id], { paths: ['a.txt'] })
  expect(world.read('a.txt')).toBe('a\n')
})

test('contents that git gc took before the first sweep are missed aloud, and nothing is written', async () => {
  world.write({ 'a.txt': 'a\n' })
  world.commit()
  const turn = await world.turn('claude-1', () => world.write({ 'a.txt': null }))
  forgetHistory()
  const before = world.files()
  await expect(world.undo([turn.id])).rejects.toMatchObject({
    code: expect.stringMatching(/^POINT_(DAMAGED|FAILED)$/),
  })
  expect(world.files()).toEqual(before)
  expect(await sweepPoints()).toMatchObject([{ problem: expect.stringContaining('git') }])
  expect(describeStore(store()).problem).toContain('git')
})

test('after a sweep, a store that lacks contents has points again, and keeps those that are whole', async () => {
  world.write({ 'a.txt': 'a\n', 'sub/b.txt': 'b\n' })
  world.commit()
  await world.turn('claude-1', () => world.write({ 'a.txt': 'changed\n' }))
  rmSync(join(world.repo, '.git'), { recursive: true })
  world.git('init', '-q')
  await expect(world.point('grant', 'claude-1')).rejects.toThrow('git status failed')
  expect(await sweepPoints()).toMatchObject([{ removedPoints: 2, problem: expect.stringContaining('git') }])
  const turn = await world.turn('codex-1', () => world.write({ 'sub/b.txt': 'changed\n' }))
  expect(await sweepPoints()).toEqual([expect.not.objectContaining({ problem: expect.anything() })])
  await world.undo([turn.id])
  expect(world.read('sub/b.txt')).toBe('b\n')
  expect(describeStore(store()).problem).toBe(null)
})

test('points of more than 14 days are removed, and the newest stays', async () => {
  world.write({ 'a.txt': 'a\n' })
  world.commit()
  await world.turn('claude-1', () => world.write({ 'a.txt': 'b\n' }))
  const { bytes } = describeStore(store())
  expect(await sweepPoints({ now: Date.now() + 13 * day })).toMatchObject([{ removedPoints: 0 }])
  expect(await sweepPoints({ now: Date.now() + 15 * day })).toMatchObject([{ removedPoints: 1 }])
  expect(describeStore(store())).toMatchObject({ points: 1, problem: null })
  expect(bytes).toBeGreaterThan(0)
  const turn = await world.turn('codex-1', () => world.write({ 'a.txt': 'c\n' }))
  await world.undo([turn.id])
  expect(world.read('a.txt')).toBe('b\n')
})

test('a store over its size loses its oldest points first', async () => {
  world.write({ 'a.txt': 'a\n' })
  world.commit()
  for (let round = 0; round < 6; round += 1)
    await world.turn('claude-1', () => world.write({ noise: randomBytes(20_000) }))
  const [swept] = await sweepPoints({ keptBytes: 20_000 })
  expect(swept?.removedPoints).toBeGreaterThan(3)
  const turn = await world.turn('claude-1', () => world.write({ 'a.txt': 'b\n' }))
  await world.undo([turn.id])
  expect(world.read('a.txt')).toBe('a\n')
})

test('the store of a worktree that is gone is removed when its points are old', async () => {
  world.write({ 'a.txt': 'a\n' })
  world.commit()
  await world.point('grant')
  renameSync(world.repo, `${world.repo}-moved`)
  await sweepPoints({ now: Date.now() + 13 * day })
  expect(findStore(world.repo)).toBeDefined()
  await sweepPoints({ now: Date.now() + 15 * day })
  expect(findStore(world.repo)).toBeUndefined()
})

test('a sweep that manages a point ends the pause after a time-out', async () => {
  world.write({ 'a.txt': 'a\n' })
  world.commit()
  await world.point('grant')
  const bin = join(world.tmp, 'bin')
  mkdirSync(bin)
  writeFileSync(join(bin, 'git'), '#!/bin/sh\nexec sleep 60\n', { mode: 0o755 })
  const path = process.env.PATH ?? ''
  vi.stubEnv('PATH', `${bin}:${path}`)
  await takePoint({ root: world.repo, kind: 'end', sessionId: 'claude-1', budgetMs: 200 })
  vi.stubEnv('PATH', path)
  rmSync(bin, { recursive: true })
  expect((await takePoint({ root: world.repo, kind: 'end', sessionId: 'claude-1' })).outcome).toBe('off')
  await sweepPoints()
  await world.point('end')
})

test('a sweep is due for a new store, then once a day, and every hour while points are paused', async () => {
  const hour = 3_600_000
  world.write({ 'a.txt': 'a\n' })
  world.commit()
  expect(isSweepDue(world.repo)).toBe(false)
  await world.point('grant')
  expect(isSweepDue(world.repo)).toBe(true)
  await sweepPoints()
  expect(isSweepDue(world.repo, Date.now() + 2 * hour)).toBe(false)
  expect(isSweepDue(world.repo, Date.now() + 25 * hour)).toBe(true)
  writeFileSync(store().file('health.json'), JSON.stringify({ sweptAt: Date.now(), pause: 'too long' }))
  expect(isSweepDue(world.repo, Date.now() + 2 * hour)).toBe(true)
})

test('an interrupted undo is left as it is', async () => {
  world.write({ 'a.txt': 'a\n' })
  world.commit()
  await world.point('grant')
  writeFileSync(store().file('undo.json'), '{"id":"x","at":0,"undoes":[],"changes":[]}')
  expect(await sweepPoints({ now: Date.now() + 100 * day })).toEqual([])
  expect(existsSync(store().file('undo.json'))).toBe(true)
})
