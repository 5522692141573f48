import type { World } from './world.ts'

/** The answer of `stint sweep`. */
export interface SweepData {
  removed: { path: string; type: string; bytes: number; reason: string }[]
  kept: { path: string; reason: string }[]
  failures: { path: string; error: string }[]
  bytes_freed: number
}

export async function sweep(world: World, ...flags: string[]): Promise<SweepData> {
  return (await world.stint(['sweep', '--json', ...flags])).envelope().data as SweepData
}
