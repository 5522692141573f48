import { chmodSync, lutimesSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Identity } from '../../src/base/process/liveness.ts'
import { newRequestId } from '../../src/base/text/id.ts'
import { type Owner, writeOwner } from '../../src/scratch/owner.ts'
import type { World } from './world.ts'

/** Higher than any pid of the kernel. */
export const deadPid = 0x7ffffff0

/** Makes a scratch as a run with a child would have left it, with the given owner; returns its path. */
export function plant(
  { root }: Pick<World, 'root'>,
  identity: Identity | undefined,
  { created_at, ...extra }: Partial<Owner> = {},
  requestId: string = newRequestId(),
): string {
  const runs = join(root, 'run')
  const path = join(runs, requestId)
  mkdirSync(join(path, '.stint'), { recursive: true, mode: 0o700 })
  for (const directory of [root, runs]) chmodSync(directory, 0o700)
  writeFileSync(join(path, 'work'), '12345')
  writeFileSync(join(path, '.stint/children.pids'), '\n')
  if (identity === undefined) return path
  const nobody = { session_id: null, parent_request_id: null, command: null, keep: 'never' } as const
  writeOwner(path, { ...nobody, identity, ...extra })
  if (created_at !== undefined) lutimesSync(`${path}.owner`, created_at / 1000, created_at / 1000)
  return path
}
