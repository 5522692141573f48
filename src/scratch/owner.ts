import { lstatSync, readlinkSync, symlinkSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { type Identity, parseIdentity } from '../base/process/liveness.ts'
import { type Machine, thisMachine } from '../base/process/platform.ts'
import { isRequestId } from '../base/text/id.ts'
import { parseObject } from '../base/text/fields.ts'
import { readSmallFile } from '../base/fs/regular-file.ts'
import { ifPossible } from '../base/errors/if-possible.ts'

/** Whether a scratch stays when its run ends. */
export type Keep = 'never' | 'on-failure' | 'always'

export const keepPolicies: readonly Keep[] = ['never', 'on-failure', 'always']

/** How many kept scratches survive a sweep: the newest. */
export const keptScratches = 10

export const shouldKeep = (policy: Keep, failed: boolean): boolean =>
  policy === 'always' || (policy === 'on-failure' && failed)

const isKeep = (value: unknown): value is Keep => keepPolicies.includes(value as Keep)

/** The owner of a scratch. */
export interface Owner {
  identity: Identity
  session_id: string | null
  /** The run in which this run was started. */
  parent_request_id: string | null
  /** Name of the program, without its arguments, which may contain secrets. */
  command: string | null
  /** With another policy than `never`, a scratch that outlives its owner is kept on purpose. */
  keep: Keep
  /** In milliseconds since the epoch. */
  created_at: number
}

/** The directory in a scratch for stint's own files; made when there is one. */
export const metaDirectory = '.stint'

const ownerSuffix = '.owner'

/**
 * `<requestId>.owner`, beside the scratch: a symbolic link whose target is the owner record. It is made
 * before the scratch and removed after it, each in one call, so no scratch is ever without an owner: after a
 * crash, a sweep finds both, or the link alone.
 */
const ownerLink = (scratch: string): string => `${scratch}${ownerSuffix}`

/** The run that a name shows as the one whose owner link it is; undefined for any other name. */
export function ownedRun(name: string): string | undefined {
  const requestId = name.endsWith(ownerSuffix) ? name.slice(0, -ownerSuffix.length) : ''
  return isRequestId(requestId) ? requestId : undefined
}

export const writeOwner = (scratch: string, owner: Omit<Owner, 'created_at'>): void =>
  symlinkSync(formatOwner(owner), ownerLink(scratch))

/** Removes the owner record. One that stays is removed by a sweep, when its process is dead. */
export const removeOwner = (scratch: string): void => ifPossible(() => unlinkSync(ownerLink(scratch)))

/**
 * Reads the owner record of a scratch; undefined if it is missing or damaged, as by a power cut. With
 * `throwOnError`, a record that exists but cannot be read throws, and so does a link of a newer version.
 */
export function readOwner(scratch: string, onError?: 'throwOnError'): Owner | undefined {
  const read = (): Owner | undefined => readOwnerLink(scratch) ?? readOwnerFile(scratch, onError)
  return onError === 'throwOnError' ? read() : ifPossible(read)
}

/** Every format after this one, which begins with a pid, must begin with `v` and its number. */
const newerFormat = /^v\d/

function readOwnerLink(scratch: string): Owner | undefined {
  const link = ownerLink(scratch)
  const stat = lstatSync(link, { throwIfNoEntry: false })
  if (stat === undefined) return undefined
  const target = readlinkSync(link)
  if (newerFormat.test(target)) throw new Error(`${link} was written by a newer version of stint`)
  const owner = parseOwnerLink(target)
  return owner && { ...owner, created_at: Math.round(stat.mtimeMs) }
}

/**
 * Formats the target of an owner link, seven fields or ten. Seven take at most 59 bytes, which ext4 keeps in
 * the inode itself: a longer target takes a block, and the disk is told when that is freed.
 */
export function formatOwner(owner: Omit<Owner, 'created_at'>): string {
  const { keep, session_id, parent_request_id, command } = owner
  const process = `${formatIdentity(owner.identity)}:${keepPolicies.indexOf(keep)}`
  const shown = [session_id, parent_request_id, command]
  return shown.some(Boolean) ? [process, ...shown.map(encodeText)].join(':') : process
}

let formatted: { identity: Identity; text: string } | undefined

/** Formats an identity; that of the last call, nearly always this process, only once. */
function formatIdentity(identity: Identity): string {
  if (formatted?.identity === identity) return formatted.text
  const { pid, started, pidns, timens, host, boot } = identity
  const text = [pid, started ?? '', ...[pidns, timens, host, boot].map(brief)].join(':')
  formatted = { identity, text }
  return text
}

/** The end of an id of this machine: enough to tell it from every other. */
const brief = (id: string): string => id.replaceAll('-', '').slice(-9)

/** XFS takes no target over 1,023 bytes: three texts of this many leave room for the process. */
const maxTextBytes = 300

/** Encodes as much of the beginning of a text as fits. */
function encodeText(text: string | null): string {
  for (let most = (text ?? '').slice(0, maxTextBytes); ; most = most.slice(0, -1)) {
    // UTF-8 has no lone surrogates, for which `encodeURIComponent` throws.
    const encoded = encodeURIComponent(Buffer.from(most).toString())
    if (encoded.length <= maxTextBytes) return encoded
  }
}

export function parseOwnerLink(target: string): Omit<Owner, 'created_at'> | undefined {
  const [pid, started, pidns, timens, host, boot, keep, ...shown] = target.split(':')
  const here = thisMachine()
  const whole = (field: keyof Machine, given: string | undefined): string | undefined =>
    given === brief(here[field]) ? here[field] : given
  const identity = parseIdentity({
    pid: Number(pid),
    started: started === '' ? null : Number(started),
    pidns: whole('pidns', pidns),
    timens: whole('timens', timens),
    host: whole('host', host),
    boot: whole('boot', boot),
  })
  const policy = keepPolicies[Number(keep)]
  const texts = ifPossible(() => shown.map((text) => decodeURIComponent(text) || null))
  if (identity === undefined || policy === undefined || ![0, 3].includes(texts?.length ?? 1)) return undefined
  const [session_id = null, parent_request_id = null, command = null] = texts ?? []
  return { identity, keep: policy, session_id, parent_request_id, command }
}

/** `.stint/owner.json` in the scratch, where older versions keep the owner. */
const readOwnerFile = (scratch: string, onError?: 'throwOnError'): Owner | undefined => {
  const text = readSmallFile(join(scratch, metaDirectory, 'owner.json'), onError)
  return text === undefined ? undefined : parseOwnerFile(text)
}

export function parseOwnerFile(text: string): Owner | undefined {
  const value = parseObject(text)
  if (value?.schema_version !== 1) return undefined
  const identity = parseIdentity(value.identity)
  if (identity === undefined || typeof value.request_id !== 'string') return undefined
  const textOrNull = (field: unknown): string | null => (typeof field === 'string' ? field : null)
  return {
    identity,
    session_id: textOrNull(value.session_id),
    parent_request_id: textOrNull(value.parent_request_id),
    command: textOrNull(value.command),
    keep: isKeep(value.keep) ? value.keep : 'never',
    created_at: typeof value.created_at === 'number' ? value.created_at : 0,
  }
}

/** The process that made `.new-…`, as older versions name a scratch until its owner record is inside. */
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
    boot: boot !== '' && here.boot.startsWith(boot) ? here.boot : boot,
  }
}
