import { existsSync, readdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { LockWorld } from '../../test/support/lock-world.ts'
import { ownIdentity } from '../base/process/liveness.ts'
import { homeStore } from './file-register.ts'
import { sweepKey } from './sweep-locks.ts'
import { WorkspaceClaims } from './workspace-claims.ts'

const dead = { ...ownIdentity(), pid: 0x7ffffffe, started: 1 }

const sessionsIn = async (world: LockWorld): Promise<string[]> => {
  const claims = await WorkspaceClaims.ofKey(homeStore(world.env), world.key)
  const view = await claims?.read()
  return view?.record.claims.map(({ session_id }) => session_id) ?? []
}

test('the sweep removes the claims of the dead, and keeps the key and its epochs', async () => {
  await using world = new LockWorld()
  world.plantClaim({ session_id: 'dead', holders: [dead] })
  const store = homeStore(world.env)
  expect(await sweepKey(store, world.key, { dryRun: true })).toBe(1)
  expect(await sessionsIn(world)).toEqual(['dead'])
  expect(await sweepKey(store, world.key)).toBe(1)
  expect(await sessionsIn(world)).toEqual([])
  expect(readdirSync(world.locks)).toEqual(['2'])
  expect(await sweepKey(store, world.key)).toBe(0)
  expect(readdirSync(world.locks)).toEqual(['2'])
})

test('the sweep keeps a claim that is over while its process lives: it can still be renewed', async () => {
  await using world = new LockWorld()
  const over = { until: -1, until_wall: 0 }
  world.plantClaim({ session_id: 'suspended', holders: [ownIdentity()], ...over })
  expect(await sweepKey(homeStore(world.env), world.key)).toBe(0)
  world.plantClaim({ session_id: 'without a process', ...over })
  expect(await sweepKey(homeStore(world.env), world.key)).toBe(1)
})

test('stint sweep removes staged files after a day, and nothing through a link', async () => {
  await using world = new LockWorld()
  world.plantClaim({ session_id: 'dead', holders: [dead] })
  const [young, old] = [join(world.locks, '.01YOUNG'), join(world.locks, '.01OLD')]
  for (const path of [young, old]) writeFileSync(path, 'staged')
  utimesSync(old, 0, 0)
  const outside = join(world.tmp, 'outside')
  await using other = new LockWorld(world.tmp)
  other.plantClaim({ session_id: 'dead', holders: [dead] })
  symlinkSync(other.locks, join(world.home, 'locks', '0123456789ab'))
  const swept = await world.stint(['sweep', '--json'])
  expect(swept.code).toBe(0)
  expect([existsSync(young), existsSync(old), existsSync(outside)]).toEqual([true, false, false])
  expect(await sessionsIn(world)).toEqual([])
  expect(await sessionsIn(other)).toEqual(['dead'])
})
