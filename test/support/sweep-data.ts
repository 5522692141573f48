import type { World } from './world.ts'

/** The `data` of `stint sweep --json`. */
export interface SweepData {
  removed: { path: string; type: string; bytes: number; disk_bytes: number; reason: string }[]
  kept: { path: string; reason: string }[]
  failures: { path: string; error: string }[]
  bytes_freed: number
  disk_bytes_freed: number
}

export async function sweep(world: World, ...flags: string[]): Promise<SweepData> {
  return (await world.stint(['sweep', '--json', ...flags])).envelope().data as SweepData
}
