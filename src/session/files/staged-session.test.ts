import { existsSync, mkdirSync, readdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { SessionWorld } from '../../../test/support/session-world.ts'
import { ulid } from '../../base/text/id.ts'
import { isAbandoned, sweepStagedSessions } from './staged-session.ts'

let world: SessionWorld
beforeEach(() => (world = new SessionWorld()))
afterEach(() => world[Symbol.asyncDispose]())

const stagedName = (pid: number): string => `.new-${pid}-${ulid()}`

function stage(name: string, ageMs: number): string {
  const path = world.path(name)
  mkdirSync(path)
  writeFileSync(join(path, 'manifest.json'), '{}')
  const then = (Date.now() - ageMs) / 1000
  utimesSync(path, then, then)
  return path
}

test('a sweep removes the staging directory of a dead maker, and no other', async () => {
  await world.make('a')
  const tenMinutes = 600_000
  const abandoned = stage(stagedName(2147483646), tenMinutes)
  const kept = [
    stage(stagedName(2147483645), 1000),
    stage(stagedName(process.pid), tenMinutes),
    stage('.new-things', tenMinutes),
    world.path('a'),
  ]
  const link = world.path(stagedName(2147483644))
  symlinkSync(world.path('a'), link)

  expect(sweepStagedSessions({ home: world.home, dryRun: true })).toMatchObject([
    { path: abandoned, removal: { removed: 0, bytes: 2, failures: [] } },
  ])
  expect(existsSync(abandoned)).toBe(true)
  expect(sweepStagedSessions({ home: world.home })).toMatchObject([
    { path: abandoned, removal: { removed: 2, bytes: 2, failures: [], complete: true } },
  ])
  expect(readdirSync(world.sessions).sort()).toEqual(
    expect.arrayContaining([...kept, link].map((path) => path.slice(world.sessions.length + 1))),
  )
  expect(existsSync(abandoned)).toBe(false)
  expect(sweepStagedSessions({ home: world.home })).toEqual([])
})

test('a staging directory goes after a day even if its pid exists', () => {
  expect(isAbandoned(86_399_000, true)).toBe(false)
  expect(isAbandoned(86_401_000, true)).toBe(true)
  expect(isAbandoned(59_000, false)).toBe(false)
  expect(isAbandoned(61_000, false)).toBe(true)
})

test('a home without sessions has nothing to sweep', () => {
  expect(sweepStagedSessions({ home: join(world.tmp, 'none') })).toEqual([])
})
