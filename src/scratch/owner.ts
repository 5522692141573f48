import { join } from 'node:path'
import { type Identity, parseIdentity } from '../base/process/liveness.ts'
import { isRequestId } from '../base/text/id.ts'
import { parseObject } from '../base/text/fields.ts'
import { createPrivateFile } from '../base/fs/private-file.ts'
import { readSmallFile } from '../base/fs/regular-file.ts'

/** Whether a scratch stays when its run ends. */
export type Keep = 'never' | 'on-failure' | 'always'

export const keepPolicies: readonly Keep[] = ['never', 'on-failure', 'always']

/** How many kept scratches survive a sweep: the newest. */
export const keptScratches = 10

export const shouldKeep = (policy: Keep, failed: boolean): boolean =>
  policy === 'always' || (policy === 'on-failure' && failed)

const isKeep = (value: unknown): value is Keep => keepPolicies.includes(value as Keep)

/** `.stint/owner.json`: the owner of a scratch. Written before the scratch is visible, never changed. */
export interface Owner {
  schema_version: 1
  request_id: string
  session_id: string | null
  /** The run in which this run was started. */
  parent_request_id: string | null
  identity: Identity
  /** For display only: names can change and repeat. */
  hostname: string
  created_at: number
  /** Name of the program, without its arguments, which may contain secrets. */
  command: string | null
  /** With another policy than `never`, a scratch that outlives its owner is kept on purpose. */
  keep: Keep
}

export const metaDirectory = '.stint'
export const ownerFile = 'owner.json'

export function writeOwner(scratch: string, owner: Owner): void {
  createPrivateFile(join(scratch, metaDirectory, ownerFile), `${JSON.stringify(owner)}\n`)
}

/**
 * Reads the owner record of a scratch; undefined if it is missing or invalid. With `throwOnError`, a record
 * that exists but cannot be read throws.
 */
export function readOwner(scratch: string, onError?: 'throwOnError'): Owner | undefined {
  const text = readSmallFile(join(scratch, metaDirectory, ownerFile), onError)
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

/**
 * The name under which a scratch is made. It is renamed when its owner record is inside, so that no scratch
 * is ever seen without an owner; after a crash in between, the sweep finds the maker in the staging name.
 */
export const stagingName = (requestId: string, by: Identity): string =>
  `.new-${requestId}-${by.pid}-${by.started ?? ''}-${by.pidns}-${by.boot.slice(0, 8)}`

/** The process that a staging name shows as the maker; undefined for any other name. */
export function parseStagingName(name: string, here: Identity): Identity | undefined {
  const [, requestId = '', pid, started, pidns = '', boot = ''] =
    /^\.new-(\w+)-(\d{1,10})-(\d*)-(\d*)-([0-9a-f-]*)$/.exec(name) ?? []
  if (!isRequestId(requestId)) return undefined
  return {
    pid: Number(pid),
    started: started ? Number(started) : null,
    pidns,
    timens: here.timens,
    // The host is not in the name: another boot is then unknown, and age decides.
    host: '',
    boot: here.boot.startsWith(boot) ? here.boot : boot,
  }
}
