import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { PointWorld } from '../../test/support/point-world.ts'
import { projectRoot } from '../../test/support/world.ts'
import {
  findStore,
  pointAtGrant,
  pointAtTurnEnd,
  readChangeSets,
  sweepAtSessionEnd,
  takeUndoneNotices,
} from './index.ts'

let world: PointWorld
beforeEach(() => {
  world = new PointWorld()
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await world[Symbol.asyncDispose]()
})

const sweepProgram = join(projectRoot, 'dist/bin/points-sweep.cjs')
const turnOf = (sessionId: string) => ({ root: world.repo, sessionId, agent: 'Claude Code', sweepProgram })

async function turn(sessionId: string, work: () => void): Promise<void> {
  await pointAtGrant(turnOf(sessionId))
  work()
  await pointAtTurnEnd(turnOf(sessionId))
}

test('the hand-over names at most five files that others have changed since the session last worked here', async () => {
  world.write({ 'a.txt': 'a\n', 'b.txt': 'b\n' })
  world.commit()
  await turn('claude-1', () => world.write({ 'a.txt': 'b\n' }))
  await turn('codex-1', () => world.write({ 'b.txt': 'B\n' }))
  for (const name of ['1', '2', '3', '4', '5', '6']) world.write({ [name]: 'by a person\n' })
  const changedByOthers = await pointAtGrant(turnOf('claude-1'))
  expect(changedByOthers).toEqual({ files: ['1', '2', '3', '4', '5'], more: 2 })
  const first = await pointAtGrant(turnOf('gemini-1'))
  expect(first).toEqual({ files: [], more: 0 })
})

test('after an interruption the hand-over names what was repaired by hand, and not the work of the session', async () => {
  world.write({ 'a.txt': 'a\n', 'b.txt': 'b\n' })
  world.commit()
  await turn('claude-1', () => world.write({ 'a.txt': '1\n' }))
  await pointAtGrant(turnOf('claude-1'))
  world.write({ 'a.txt': '2\n' })
  const lastActs = { 'claude-1': world.afterTick() }
  world.write({ 'b.txt': 'repaired\n' })
  const changedByOthers = await pointAtGrant({ ...turnOf('claude-1'), lastActs })
  expect(changedByOthers.files).toEqual(['b.txt'])
})

test('a session is told once that its changes were undone, unless they are redone by then, and others are not', async () => {
  world.write({ 'a.txt': 'a\n' })
  world.commit()
  const { id } = await world.turn('claude-1', () => world.write({ 'a.txt': 'b\n' }))
  const undo = await world.undo([id])
  await world.undo([undo.id])
  expect(takeUndoneNotices('claude-1')).toEqual([])
  await world.undo([id])
  expect(takeUndoneNotices('codex-1')).toEqual([])
  expect(takeUndoneNotices('claude-1')).toEqual(['a.txt'])
  expect(takeUndoneNotices('claude-1')).toEqual([])
})

test('a turn whose end has no point, and whose last act is not known, is incomplete', async () => {
  world.write({ 'a.txt': 'a\n' })
  world.commit()
  await world.point('grant', 'claude-1')
  world.write({ 'a.txt': 'b\n' })
  await pointAtGrant({ ...turnOf('codex-1'), lastActs: { 'gemini-1': Date.now() } })
  const { sets } = await readChangeSets(world.repo, {})
  expect(sets[0]).toMatchObject({ session_id: 'claude-1', end: 'unseen', isComplete: false })
})

/** Puts a git before the real one that never answers. */
function hangGit(): () => void {
  const bin = join(world.tmp, 'bin')
  mkdirSync(bin)
  writeFileSync(join(bin, 'git'), '#!/bin/sh\nexec sleep 60\n', { mode: 0o755 })
  const path = process.env.PATH ?? ''
  vi.stubEnv('PATH', `${bin}:${path}`)
  return () => {
    vi.stubEnv('PATH', path)
    rmSync(bin, { recursive: true })
  }
}

test('points that could not be taken are taken again when a sweep in the background has managed one', async () => {
  world.write({ 'a.txt': 'a\n' })
  world.commit()
  await pointAtGrant(turnOf('claude-1'))
  const store = findStore(world.repo)
  const repair = hangGit()
  const { outcome } = await world.tryPoint('end', 'claude-1', { budgetMs: 200 })
  expect(outcome).toBe('off')
  repair()
  expect((await pointAtTurnEnd(turnOf('claude-1'))).outcome).toBe('off')
  sweepAtSessionEnd(turnOf('claude-1'))
  const health = store?.file('health.json') ?? ''
  await vi.waitUntil(() => readFileSync(health, 'utf8').includes('"pause":null'), { timeout: 30_000 })
  expect((await pointAtTurnEnd(turnOf('claude-1'))).outcome).toBe('taken')
})
