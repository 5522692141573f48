import { join } from 'node:path'
import { StintError } from '../../base/errors/stint-error.ts'
import { lstatIfExists, unless } from '../../base/fs/exists.ts'
import { makePrivateDirectory } from '../../base/fs/private-file.ts'
import { type Liveness, liveness } from '../../base/process/liveness.ts'
import { isCount, isRecord, parseObject } from '../../base/text/fields.ts'
import { ulid } from '../../base/text/id.ts'
import { fileRegister, nodeFiles } from '../../lease/index.ts'
import { beatMs, holderStanding, type LockStanding, newHolder, parseHolder } from '../holder.ts'
import { storedEnds } from '../log/codec.ts'
import type { SessionHold } from '../medium.ts'
import { sessionFenced, sessionLocked } from '../session-errors.ts'
import { type LogPositions, parsePosition } from './log-files.ts'
import { noteActivity } from './sessions-home.ts'
import type { Holder } from '../store.ts'

/**
 * The lock of a session is the key `lock` of a register in the session's directory: the file `lock/<N>` with
 * the highest number is its record. Locks are not synced: a power cut may leave an empty record, or none.
 */
const lockKey = 'lock'

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
  for (let entry = await readEntry(root); ;) {
    const lock = judge(entry, livenessOf)
    if (lock.standing !== 'dead' || lock.record?.holder === undefined) return lock
    // A holder may have released the lock after it was read, and ended before it was judged: then it is not
    // a crash. A process that has ended releases nothing more, so a second look tells.
    const again = await readEntry(root)
    if (again.epoch === entry.epoch) return lock
    entry = again
  }
}

const livenessOfHolder = ({ process }: Holder): Liveness => liveness(process)

function judge({ text, epoch }: LockEntry, livenessOf = livenessOfHolder): ObservedLock {
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

export interface SessionLockRequest extends SessionHold {
  /** Returns the highest hold epoch in the names of the session's segments. */
  highestHoldEpoch: () => number
  /** By the clock of the store, in milliseconds since the epoch. */
  now: number
}

/** A lock that this process has just acquired, and how it was found. */
export interface AcquiredLock {
  lock: SessionLock
  standing: LockStanding
  before: SessionLockRecord | undefined
}

/** Acquires the lock of the session in a directory. `SESSION_LOCKED`, with the living holder. */
export async function acquireLock(
  root: string,
  id: string,
  request: SessionLockRequest,
): Promise<AcquiredLock> {
  for (;;) {
    const entry = await readEntry(root)
    const { record: before, standing } = judge(entry)
    if (standing === 'held' && !request.force) throw sessionLocked(id, before?.holder)
    // A torn record has lost its hold epoch: the register and the names of the segments count, too.
    const holdEpoch = Math.max(entry.epoch, before?.holdEpoch ?? 0, request.highestHoldEpoch()) + 1
    if (!isHoldEpoch(holdEpoch))
      throw new StintError('HOME_UNSAFE', `session ${id} has a file with an epoch that is too large`, {
        hint: 'Remove that file, which stint did not write, from the directory of the session.',
      })
    const record = newRecord(request, holdEpoch, request.now)
    const epoch = await swapEntry(root, entry.epoch, formatLockRecord(id, record))
    // Another process was faster: look again.
    if (epoch === undefined) continue
    const lock = new SessionLock(root, id, epoch, record)
    lock.note(before?.latestAt)
    return { lock, standing, before }
  }
}

/** Creates the lock of a session that is staged in one directory and will be published in another. */
export async function createLock(
  staged: string,
  root: string,
  id: string,
  hold: SessionHold,
  now: number,
): Promise<SessionLock> {
  const record = newRecord(hold, 1, now)
  await swapEntry(staged, 0, formatLockRecord(id, record))
  return new SessionLock(root, id, 1, record)
}

const newRecord = (hold: SessionHold, holdEpoch: number, now: number): SessionLockRecord => ({
  holder: newHolder(hold, holdEpoch),
  holdEpoch,
  ends: undefined,
  latestAt: now + maxUnseenMs,
})

/** The last record of a holder follows its last heartbeat by one interval, unless its timer is late. */
const maxUnseenMs = 2 * beatMs

/** The lock of a session while this process holds it. */
export class SessionLock {
  readonly #root: string
  readonly #session: string
  /** The epoch of the register. */
  #epoch: number
  #record: SessionLockRecord

  constructor(root: string, session: string, epoch: number, record: SessionLockRecord) {
    this.#root = root
    this.#session = session
    this.#epoch = epoch
    this.#record = record
  }

  get record(): SessionLockRecord {
    return this.#record
  }

  get holdEpoch(): number {
    return this.#record.holdEpoch
  }

  /**
   * Throws `FENCED` if another process has acquired the lock: before it reads anything, it removes the epoch
   * of this one. So it reads whatever was synced before this check. One call: it follows every sync.
   */
  assertOwned(): void {
    const path = join(this.#root, lockKey, String(this.#epoch))
    if (lstatIfExists(path) === undefined) throw sessionFenced(this.#session)
  }

  /** Shows lists what the record says. `before` is what they see now. */
  note(before: number | undefined): void {
    const { latestAt } = this.#record
    if (latestAt !== undefined) noteActivity(this.#root, before, latestAt)
  }

  /** Records that the holder is alive; `now` is the time of the store's clock. */
  async beat(now: number): Promise<void> {
    const { holder } = this.#record
    if (holder === undefined) return
    const beating = { ...holder, beat: Date.now() }
    if (!(await this.#replace({ ...this.#record, holder: beating, latestAt: now + maxUnseenMs })))
      throw sessionFenced(this.#session)
  }

  /** Releases the lock. With the ends of the logs, the next holder can skip the recovery. */
  async release(ends: LogPositions | undefined, lastAt: number): Promise<void> {
    await this.#release({ ...this.#record, holder: undefined, ends, latestAt: lastAt })
  }

  /** Releases the lock of a session that could not be opened, so that the session is as it was found. */
  async restore(before: SessionLockRecord | undefined): Promise<void> {
    const ends = before?.holder === undefined ? before?.ends : undefined
    // Without the ends the session is judged as crashed, and the next holder recovers it.
    await this.#release({
      holdEpoch: this.#record.holdEpoch,
      holder: ends === undefined ? before?.holder : undefined,
      ends,
      latestAt: before?.latestAt,
    })
  }

  /** A waiting process may acquire the released lock at once: then the swap only looks lost. */
  async #release(record: SessionLockRecord): Promise<void> {
    this.assertOwned()
    await this.#replace(record)
  }

  async #replace(record: SessionLockRecord): Promise<boolean> {
    const epoch = await swapEntry(this.#root, this.#epoch, formatLockRecord(this.#session, record))
    if (epoch === undefined) return false
    const { latestAt } = this.#record
    this.#epoch = epoch
    this.#record = record
    this.note(latestAt)
    return true
  }
}

/** Restores the lock after opening has failed. Does not throw: the caller reports why opening failed. */
export async function undoAcquire({ lock, before }: AcquiredLock): Promise<void> {
  try {
    await lock.restore(before)
  } catch {
    // Another process has acquired the lock, or it is free when this process ends.
  }
}

/** What the register holds: `epoch` is its own number, which grows with every heartbeat. */
interface LockEntry {
  epoch: number
  text: string | undefined
}

/** A process that removes the session may be faster: the lock must not make its directory again. */
const lockFiles = {
  ...nodeFiles,
  makeDirectory: (path: string) => unless(['EEXIST'], () => makePrivateDirectory(path)),
}

const readEntry = (root: string): Promise<LockEntry> => fileRegister(root, lockFiles).read(lockKey)

/** Replaces the text of an epoch, and returns the next epoch; undefined if another process was faster. */
async function swapEntry(root: string, epoch: number, text: string): Promise<number | undefined> {
  if (await fileRegister(root, lockFiles).swap(lockKey, epoch, text)) return epoch + 1
  // The register may have linked the text, and failed to see that it is on top.
  const entry = await readEntry(root)
  return entry.text === text ? entry.epoch : undefined
}

/** Each text is unique: `swapEntry` recognizes its own. */
const formatLockRecord = (
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
const isHoldEpoch = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) > 0 && (value as number) < 999_999_999_999_999

function parseEnds(value: unknown): LogPositions | undefined {
  if (!isRecord(value)) return undefined
  const [journal, audit] = [parsePosition(value.journal), parsePosition(value.audit)]
  return journal === undefined || audit === undefined ? undefined : { journal, audit }
}
