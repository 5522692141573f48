import { mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { deadPid, plant } from '../../test/support/plant.ts'
import { World } from '../../test/support/world.ts'
import { newRequestId } from '../base/text/id.ts'
import { ownIdentity } from '../base/process/liveness.ts'
import { keptScratches } from '../scratch/owner.ts'
import { openRoot } from '../scratch/root.ts'
import { sweep } from './sweep.ts'
import { listEntries } from './inventory.ts'

const dayMs = 86_400_000

test('the inventory marks exactly the entries that a sweep removes, with the same reasons', async () => {
  await using world = new World()
  const now = Date.now() + 2 * dayMs
  const [me, dead] = [ownIdentity(), { ...ownIdentity(), pid: deadPid }]
  for (const identity of [undefined, me, dead, { ...me, pidns: '1' }]) plant(world, identity)
  const young = plant(world, { ...me, pidns: '1' })
  mkdirSync(join(young, 'deep'))
  writeFileSync(join(young, 'deep/fresh'), '')
  utimesSync(join(young, 'deep/fresh'), now / 1000, now / 1000)
  // A scratch with a creation time in the future counts as the newest, for both.
  for (let at = 0; at <= keptScratches; at++)
    plant(world, dead, { keep: 'always', created_at: at === 5 ? now + dayMs : at })
  for (const place of ['trash', 'out', 'tracked']) mkdirSync(join(world.root, place), { mode: 0o700 })
  writeFileSync(join(world.root, 'trash', newRequestId()), '')
  mkdirSync(join(world.root, 'out', `${newRequestId()}-1`))
  const root = openRoot({ STINT_TMP_ROOT: world.tmp })

  const seen = await listEntries(root, now)
  const { removed, kept } = await sweep({ root, clock: { now: () => now, mono: () => 0 } })
  const fates = (entries: readonly { path: string; reason: string }[]): string[] =>
    entries.map(({ path, reason }) => `${path} ${reason}`).sort()
  expect(fates(seen.filter(({ orphan }) => orphan))).toEqual(fates(removed))
  expect(fates(seen.filter(({ orphan }) => !orphan))).toEqual(fates(kept))
  expect(removed.map(({ reason }) => reason).sort()).toEqual([
    'expired',
    'owner-dead',
    'ownerless-and-old',
    'superseded',
    'trash',
    'unknown-and-old',
  ])
  expect(kept).toContainEqual({ path: young, reason: 'owner-unknown' })
})
