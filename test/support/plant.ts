import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { newRequestId } from '../../src/base/text/id.ts'
import type { World } from './world.ts'

/** Higher than any pid of the kernel. */
export const deadPid = 0x7ffffff0

/** Makes a scratch as a run would have left it, with the given owner; returns its path. */
export function plant(
  world: Pick<World, 'root'>,
  identity: object | undefined,
  extra: object = {},
  requestId: string = newRequestId(),
): string {
  const path = join(world.root, requestId)
  mkdirSync(join(path, '.stint'), { recursive: true, mode: 0o700 })
  chmodSync(world.root, 0o700)
  const owner = { schema_version: 1, request_id: requestId, created_at: 0, keep: 'never', identity, ...extra }
  if (identity !== undefined) writeFileSync(join(path, '.stint/owner.json'), JSON.stringify(owner))
  writeFileSync(join(path, 'work'), '12345')
  return path
}
