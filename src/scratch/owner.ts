import { lstatSync, readlinkSync, symlinkSync } from 'node:fs'
import { basename, join } from 'node:path'
import { explained, ifPossible } from '../base/errors/if-possible.ts'
import { codedError } from '../base/errors/stint-error.ts'
import { openPrivateFile, writeAll } from '../base/fs/private-file.ts'
import { readSmallFile } from '../base/fs/regular-file.ts'
import { type Identity, parseIdentity } from '../base/process/liveness.ts'
import { type Machine, thisMachine } from '../base/process/platform.ts'
import { isRequestId } from '../base/text/id.ts'
import { makePathIn, metaDirectory } from './create-in.ts'

/** Whether a scratch stays when its run ends. */
export type Keep = 'never' | 'on-failure' | 'always'

export const keepPolicies: readonly Keep[] = ['never', 'on-failure', 'always']

/** How many kept scratches survive a sweep: the newest. */
export const keptScratches = 10

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

export const ownerSuffix = '.owner'

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

/**
 * Reads the owner record of a scratch; undefined if it is missing or damaged, as by a power cut. With
 * `throwOnError`, a record that exists but cannot be read throws.
 */
export function readOwner(scratch: string, onError?: 'throwOnError'): Owner | undefined {
  const read = (): Owner | undefined => {
    const link = ownerLink(scratch)
    const stat = lstatSync(link, { throwIfNoEntry: false })
    const owner = stat && parseOwnerLink(readlinkSync(link))
    return owner && { ...owner, created_at: Math.round(stat.mtimeMs) }
  }
  return onError === 'throwOnError' ? read() : ifPossible(read)
}

/**
 * Formats the target of an owner link, seven fields or ten. Seven take at most 59 bytes, which ext4 keeps in
 * the inode itself. A longer target takes a block: then making and removing a scratch takes 1.6 times as long
 * (`npm run bench -- --only scratch`).
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
  const whole = (field: keyof Machine, id: string | undefined): string | undefined =>
    id === brief(here[field]) ? here[field] : id
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

/** `.stint/children.pids`: one line per child of the run, `pid start-time program`. */
const childrenFile = 'children.pids'

const childrenPath = (scratch: string): string => join(scratch, metaDirectory, childrenFile)

/**
 * Appends to the record of children. The file is opened before the first child is started, so a child that
 * damages its scratch cannot prevent the next entry. It begins with an empty line: that takes the space for
 * the first entries, and a full disk shows before a child runs.
 */
export class ChildrenRecord {
  readonly path: string
  readonly #fd: number
  readonly #scratch: string
  #torn = false

  constructor(scratch: string) {
    this.#scratch = scratch
    this.path = childrenPath(scratch)
    this.#fd = explained(
      (error) => codedError(error, `record children in ${scratch}`),
      () => {
        const fd = openPrivateFile(makePathIn(scratch, [metaDirectory, childrenFile]), 'a')
        writeAll(fd, '\n')
        return fd
      },
    )
  }

  add({ pid, started }: Identity, program: string): void {
    const name = basename(program).replace(/\s+/g, ' ')
    try {
      // A full disk may have torn the previous line; start this one on a new line.
      writeAll(this.#fd, `${this.#torn ? '\n' : ''}${pid} ${started ?? '-'} ${name}\n`)
      this.#torn = false
    } catch (error) {
      this.#torn = true
      throw codedError(error, `record the child ${pid} in ${this.#scratch}`)
    }
  }
}

/** Reads the recorded children, without a torn last line; undefined if the record cannot be read. */
export function readChildren(scratch: string, owner: Owner): Identity[] | undefined {
  const path = childrenPath(scratch)
  const text = readSmallFile(path)
  if (text === undefined) return lstatSync(path, { throwIfNoEntry: false }) === undefined ? [] : undefined
  return text
    .split('\n')
    .slice(0, -1)
    .flatMap((line) => {
      const [pid, started] = line.split(' ', 2)
      const child = { ...owner.identity, pid: Number(pid), started: started === '-' ? null : Number(started) }
      return parseIdentity(child) ?? []
    })
}
