import { makePrivateDirectory } from '../../base/fs/private-file.ts'
import { unless } from '../../base/fs/exists.ts'
import { type Liveness, liveness, ownIdentity, parseIdentity } from '../../base/process/liveness.ts'
import { isCount, isRecord, parseObject } from '../../base/text/fields.ts'
import { ulid } from '../../base/text/id.ts'
import { fileRegister, nodeFiles } from '../../lease/index.ts'
import { storedEnds } from '../log/codec.ts'
import type { SessionHold } from '../medium.ts'
import type { Holder, SessionState } from '../store.ts'
import type { LogPositions, Position } from './log-files.ts'

/**
 * The lock of a session is the key `lock` of a register in the session's directory: the file `lock/<N>` with
 * the highest number is its record. Locks are not synced: a power cut may leave an empty record, or none.
 */
export const lockKey = 'lock'

/** The contents of a lock. */
export interface SessionLockRecord {
  /** Undefined once it was released. */
  holder: Holder | undefined
  /**
   * The epoch of the last hold, which its records and the names of its segments carry. The register's own
   * epoch, which grows with every heartbeat, is another number.
   */
  holdEpoch: number
  /** Where the logs end, if the last holder has released the lock and closed them. */
  ends: LogPositions | undefined
  /** For lists: the latest time that the last record can have. Of a closed session, its time. */
  latestAt: number | undefined
}

/** A lock, and whether it can be acquired. */
export interface ObservedLock {
  /** Undefined if the lock was never acquired. */
  record: SessionLockRecord | undefined
  standing: LockStanding
}

/** Reads the lock of the session in a directory, and judges its holder now. */
export async function observeLock(root: string, livenessOf = livenessOfHolder): Promise<ObservedLock> {
  for (let entry = await readLockEntry(root); ;) {
    const lock = judgeLock(entry, livenessOf)
    if (lock.standing !== 'dead' || lock.record?.holder === undefined) return lock
    // A holder may have released the lock after it was read, and ended before it was judged: then it is not
    // a crash. A process that has ended releases nothing more, so a second look tells.
    const again = await readLockEntry(root)
    if (again.epoch === entry.epoch) return lock
    entry = again
  }
}

const livenessOfHolder = ({ process }: Holder): Liveness => liveness(process)

export function judgeLock({ text, epoch }: LockEntry, livenessOf = livenessOfHolder): ObservedLock {
  const record = parseLockRecord(text, epoch)
  return { record, standing: lockStanding(record, Date.now(), livenessOf) }
}

/** Judges a lock from plain data. */
export function lockStanding(
  record: SessionLockRecord | undefined,
  now: number,
  livenessOf: (holder: Holder) => Liveness,
): LockStanding {
  if (record === undefined) return 'never'
  // A holder that could not close the logs has released the lock without their ends.
  if (record.holder === undefined) return record.ends === undefined ? 'dead' : 'released'
  return holderStanding(record.holder, livenessOf(record.holder), now)
}

/** What the register holds: `epoch` is its own number, which grows with every heartbeat. */
export interface LockEntry {
  epoch: number
  text: string | undefined
}

/** A process that removes the session may be faster: the lock must not make its directory again. */
export const lockFiles = {
  ...nodeFiles,
  makeDirectory: (path: string) => unless(['EEXIST'], () => makePrivateDirectory(path)),
}

export const readLockEntry = (root: string): Promise<LockEntry> => fileRegister(root, lockFiles).read(lockKey)

/** Each text is unique: `swapEntry` recognizes its own. */
export const formatLockRecord = (
  session: string,
  { holder, holdEpoch, ends, latestAt }: SessionLockRecord,
): string =>
  JSON.stringify({
    schema_version: 1,
    session_id: session,
    nonce: ulid(),
    epoch: holdEpoch,
    holder,
    ends: ends && storedEnds(ends),
    latest_at: latestAt,
  })

/** Reads a record. An invalid one was torn by a power cut: its holder has not closed the session. */
function parseLockRecord(text: string | undefined, registerEpoch: number): SessionLockRecord | undefined {
  if (text === undefined) return undefined
  const { epoch: holdEpoch, holder: stored, ends, latest_at: at } = parseObject(text) ?? {}
  const latestAt = isCount(at) ? at : undefined
  const holder = isHoldEpoch(holdEpoch) ? parseHolder(stored, holdEpoch) : undefined
  const isTorn = !isHoldEpoch(holdEpoch) || (stored !== undefined && holder === undefined)
  if (isTorn) return { holder, holdEpoch: registerEpoch, ends: undefined, latestAt: undefined }
  return { holder, holdEpoch, ends: stored === undefined ? parseEnds(ends) : undefined, latestAt }
}

/** Can it, and the epoch after it, be part of the name of a segment? */
export const isHoldEpoch = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) > 0 && (value as number) < 999_999_999_999_999

function parseEnds(value: unknown): LogPositions | undefined {
  if (!isRecord(value)) return undefined
  const [journal, audit] = [parsePosition(value.journal), parsePosition(value.audit)]
  return journal === undefined || audit === undefined ? undefined : { journal, audit }
}

function parsePosition(value: unknown): Position | undefined {
  if (!isRecord(value)) return undefined
  const { seq, tail: sum, segment, offset } = value
  if (!isCount(seq) || typeof sum !== 'string' || !isCount(offset)) return undefined
  // The segment becomes part of a path: no slash, and no dot but the last.
  if (typeof segment !== 'string' || !/^[a-z0-9-]+\.log$/.test(segment)) return undefined
  return { seq, sum, segment, offset }
}

/** This process as the holder of a session. `epoch` must be higher than that of every holder before it. */
export function newHolder({ kind, purpose }: SessionHold, epoch: number, now = Date.now()): Holder {
  return { process: ownIdentity(), since: now, beat: now, kind, purpose, epoch }
}

/** A holder read from stored JSON, which may be damaged; undefined if it is invalid. */
export function parseHolder(value: unknown, epoch: number): Holder | undefined {
  if (!isRecord(value)) return undefined
  const { process, since, beat, kind, purpose } = value
  const identity = parseIdentity(process)
  if (identity === undefined || !isTime(since) || !isTime(beat)) return undefined
  return {
    process: identity,
    since,
    beat,
    kind: kind === 'visitor' ? 'visitor' : 'writer',
    purpose: typeof purpose === 'string' ? purpose : undefined,
    epoch,
  }
}

/** Is it a number that a date can be made of? */
const isTime = (value: unknown): value is number =>
  typeof value === 'number' && !Number.isNaN(new Date(value).getTime())

/** How often a holder records that it is alive, in milliseconds. */
export const beatMs = 30_000
/** A holder whose process cannot be seen loses the session after this long without a heartbeat. */
export const silenceMs = 5 * 60_000

/**
 * Whether a holder keeps its session.
 *
 * - `dead`: it writes nothing more: its process has ended, or has released the session without closing its
 *   logs.
 * - `silent`: its process cannot be seen from here and has missed its heartbeats. It has lost the session but
 *   may still write, so the next holder must fence it off.
 * - `held`: the session is its own.
 */
type HolderStanding = 'dead' | 'silent' | 'held'

/** Whether a session can be taken. `never`: it had no holder yet. `released`: its last holder closed it. */
export type LockStanding = 'never' | 'released' | HolderStanding

/** The state that a list shows. `damaged`: damage was found in the session earlier. */
export function sessionState(
  standing: LockStanding,
  holder: Holder | undefined,
  damaged: boolean,
): SessionState {
  if (standing === 'held')
    return holder !== undefined && liveness(holder.process) === 'unknown' ? 'locked' : 'active'
  if (damaged) return 'damaged'
  return standing === 'dead' || standing === 'silent' ? 'crashed' : 'closed'
}

/** Judges whether a holder keeps its session, from the liveness of its process and its last heartbeat. */
export function holderStanding({ beat }: Pick<Holder, 'beat'>, life: Liveness, now: number): HolderStanding {
  if (life === 'dead') return 'dead'
  return life === 'unknown' && now - beat > silenceMs ? 'silent' : 'held'
}
