import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { StintError } from '../../base/errors/stint-error.ts'
import { ifExists } from '../../base/fs/exists.ts'
import { fileRegister } from '../../lease/index.ts'
import type { SessionHold } from '../medium.ts'
import { sessionFenced, sessionLocked } from '../session-errors.ts'
import { noteActivity } from './list-sessions.ts'
import {
  beatMs,
  formatLockRecord,
  isHoldEpoch,
  judgeLock,
  lockFiles,
  lockKey,
  type LockStanding,
  newHolder,
  readLockEntry,
  type SessionLockRecord,
} from './lock-record.ts'
import type { LogPositions } from './log-files.ts'

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
    const entry = await readLockEntry(root)
    const { record: before, standing } = judgeLock(entry)
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
   * Throws `FENCED` if another process has acquired the lock. One listing: it follows every sync. The own
   * epoch's file proves nothing, as a suspended writer can link a number again that was used and removed.
   */
  assertOwned(): void {
    if (topEpoch(this.#root) !== this.#epoch) throw sessionFenced(this.#session)
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

  /** Releases the lock. With `ends`, the next holder need not sync the logs, and a visitor cuts nothing. */
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

/** Replaces the text of an epoch, and returns the next epoch; undefined if another process was faster. */
async function swapEntry(root: string, epoch: number, text: string): Promise<number | undefined> {
  if (await fileRegister(root, lockFiles).swap(lockKey, epoch, text)) return epoch + 1
  // The register may have linked the text, and failed to see that it is on top.
  const entry = await readLockEntry(root)
  return entry.text === text ? entry.epoch : undefined
}

/** The highest epoch of the register; 0 if the session has no lock, because it was removed. */
function topEpoch(root: string): number {
  const names = ifExists(() => readdirSync(join(root, lockKey))) ?? []
  // The other names are those of staged files, which begin with a dot.
  return Math.max(0, ...names.map(Number).filter(Number.isSafeInteger))
}
