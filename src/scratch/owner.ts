import { join } from 'node:path'
import { type Identity, parseIdentity } from '../base/process/liveness.ts'
import { parseObject } from '../base/text/parse-object.ts'
import { createPrivateFile } from '../base/fs/private-file.ts'
import { readSmallFile } from '../base/fs/small-file.ts'
import { type Keep, isKeep } from './keep.ts'

/** `.stint/owner.json`: who a scratch belongs to. Written before the scratch is visible, never changed. */
export interface Owner {
  schema_version: 1
  request_id: string
  session_id: string | null
  /** The run this one was started in. */
  parent_request_id: string | null
  identity: Identity
  /** For display only: names can change and repeat. */
  hostname: string
  created_at: number
  /** Name of the program, without its arguments: those may hold secrets. */
  command: string | null
  /** If it outlives its owner with a policy other than `never`, that is on purpose. */
  keep: Keep
}

export const metaDirectory = '.stint'
export const ownerFile = 'owner.json'

export function writeOwner(scratch: string, owner: Owner): void {
  createPrivateFile(join(scratch, metaDirectory, ownerFile), `${JSON.stringify(owner)}\n`)
}

/** The owner record, or undefined if there is none that makes sense. One that cannot be read is thrown, if one insists. */
export function readOwner(scratch: string, insist?: 'insist'): Owner | undefined {
  const text = readSmallFile(join(scratch, metaDirectory, ownerFile), insist)
  return text === undefined ? undefined : parseOwner(text)
}

export function parseOwner(text: string): Owner | undefined {
  const value = parseObject(text)
  if (value?.schema_version !== 1) return undefined
  const identity = parseIdentity(value.identity)
  if (identity === undefined || typeof value.request_id !== 'string') return undefined
  const textOrNull = (field: unknown): string | null => (typeof field === 'string' ? field : null)
  return {
    schema_version: 1,
    request_id: value.request_id,
    session_id: textOrNull(value.session_id),
    parent_request_id: textOrNull(value.parent_request_id),
    identity,
    hostname: textOrNull(value.hostname) ?? '',
    created_at: typeof value.created_at === 'number' ? value.created_at : 0,
    command: textOrNull(value.command),
    keep: isKeep(value.keep) ? value.keep : 'never',
  }
}
