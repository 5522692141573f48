import { deadPid } from './plant.ts'
import type { Finished, World } from './world.ts'
import { ownIdentity } from '../../src/base/process/liveness.ts'

/** An entry in the output of `stint temp list`. */
export interface Entry {
  path: string
  kind: string
  bytes: number
  disk_bytes: number
  files: number
  directories: number
  age_ms: number
  request_id: string | null
  session_id: string | null
  command: string | null
  pid: number | null
  liveness: string | null
  orphan: boolean
  reason: string
}

export const dataOf = (result: Finished) => result.envelope().data as Record<string, unknown>
export const temp = (world: World, ...args: string[]): Promise<Finished> =>
  world.stint(['temp', ...args, '--json'])

export async function list(world: World, ...flags: string[]): Promise<Entry[]> {
  return dataOf(await temp(world, 'list', ...flags)).entries as Entry[]
}

export const find = (entries: Entry[], path: string): Entry | undefined =>
  entries.find((entry) => entry.path === path)
/** The identity of a dead process. */
export const dead = { ...ownIdentity(), pid: deadPid }
