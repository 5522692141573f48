import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { elsewhere, killRuns, type KilledRunsOptions, startLiveRuns } from './killed-runs.ts'
import { treeHash } from './tree-hash.ts'
import { World } from './world.ts'

export interface SweptRunsReport {
  /** Number of entries that the sweep removed. */
  swept: number
  /** Remaining paths that belong to no living run. */
  leftovers: string[]
  /** Whether every byte of the scratches, records and tracked paths of living runs is unchanged. */
  untouched: boolean
  live: number
}

/** Kills runs while others live, sweeps once, and reports what is left. */
export async function sweptRuns(options: KilledRunsOptions & { live: number }): Promise<SweptRunsReport> {
  await using world = new World()
  const live = await startLiveRuns(world, options.live)
  const names = world.leftovers().filter((name) => name !== 'tracked')
  const outside = readdirSync(elsewhere(world))
  const livePaths = [
    ...names.map((name) => join(world.runs, name)),
    ...names.map((name) => join(world.root, 'tracked', name)),
    ...outside.map((name) => join(elsewhere(world), name)),
  ]
  const before = treeHash(...livePaths)
  await killRuns(world, options)
  const { failures, removed } = (await world.stint(['sweep', '--json'])).envelope().data as {
    failures: unknown[]
    removed: unknown[]
  }
  if (failures.length > 0 || removed.length === 0) throw new Error(`swept: ${JSON.stringify(failures)}`)
  const remaining = (directory: string, expected: readonly string[]): string[] =>
    existsSync(directory)
      ? readdirSync(directory)
          .filter((name) => !expected.includes(name))
          .map((name) => join(directory, name))
      : []
  return {
    swept: removed.length,
    live: live.filter(({ child }) => child.exitCode === null && child.signalCode === null).length,
    untouched: treeHash(...livePaths) === before,
    leftovers: [
      ...remaining(world.root, ['run', 'trash', 'tracked']),
      ...remaining(world.runs, [...names, ...names.map((name) => `${name}.owner`)]),
      ...remaining(join(world.root, 'trash'), ['.swept']),
      ...remaining(join(world.root, 'tracked'), names),
    ],
  }
}
