import { mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { ownIdentity } from '../../src/base/process/liveness.ts'
import { openRoot } from '../../src/scratch/root.ts'
import { sweep as sweepNow } from '../../src/sweep/sweep.ts'
import { grow } from './grow.ts'
import { deadPid, plant } from './plant.ts'
import { startSwapper } from './swapper.ts'
import { treeHash } from './tree-hash.ts'
import { World } from './world.ts'

export interface AttackReport {
  swaps: number
  removed: number
  /** Errors that sweeps threw. */
  crashes: unknown[]
  outsideIsSame: boolean
  /** Paths left after the attack and a last sweep, except links, and a scratch that lost its owner record. */
  leftovers: string[]
}

/**
 * Sweeps dead scratches repeatedly while an attacker swaps them and their directories for links to elsewhere.
 */
export async function attackedSweeps(atLeast: { rounds: number; swaps: number }): Promise<AttackReport> {
  await using world = new World()
  const outside = join(world.tmp, 'outside')
  mkdirSync(outside)
  for (let i = 0; i < 20; i++) writeFileSync(join(outside, `valuable-${i}`), 'x')
  grow(join(outside, 'd0'), 1, 2)
  const before = treeHash(outside)
  const root = openRoot({ STINT_TMP_ROOT: world.tmp })
  const report: AttackReport = { swaps: 0, removed: 0, crashes: [], outsideIsSame: true, leftovers: [] }
  const sweepOnce = async (): Promise<void> => {
    try {
      report.removed += (await sweepNow({ root })).removed.length
    } catch (error) {
      report.crashes.push(error)
    }
  }

  await using attacker = startSwapper(world, { places: [root.runs, root.trash], outside })
  for (let round = 0; round < atLeast.rounds || attacker.swaps() < atLeast.swaps; round++) {
    await new Promise(setImmediate)
    for (let i = 0; i < 2; i++) plantTree(world)
    await sweepOnce()
  }
  await attacker.stop()
  const last = await sweepNow({ root })
  report.swaps = attacker.swaps()
  report.outsideIsSame = treeHash(outside) === before
  const spared = last.kept.filter(({ reason }) => reason === 'symlink' || reason === 'ownerless')
  report.leftovers = [root.runs, root.trash]
    .flatMap((directory) => readdirSync(directory).map((name) => join(directory, name)))
    .filter((path) => !spared.some((entry) => [entry.path, `${entry.path}.owner`].includes(path)))
  return report
}

/**
 * Plants a dead scratch. It is made elsewhere and moved in, so that the attacker cannot redirect these
 * writes.
 */
function plantTree(world: World): void {
  const nursery = join(world.tmp, 'nursery')
  const scratch = plant({ root: nursery }, { ...ownIdentity(), pid: deadPid })
  grow(join(scratch, 'd0'), 2, 3)
  for (const path of [`${scratch}.owner`, scratch]) renameSync(path, join(world.runs, basename(path)))
}
