import { explained } from '../../base/errors/if-possible.ts'
import { codedError, StintError } from '../../base/errors/stint-error.ts'
import { type Liveness, liveness } from '../../base/process/liveness.ts'
import { isCount, isRecord, parseObject } from '../../base/text/fields.ts'
import { ulid } from '../../base/text/id.ts'
import { runSync } from '../../base/process/event-loop.ts'
import { linkRegister } from './old-register/file-register.ts'
import type { StepRegister, StepEntry } from './old-register/register.ts'
import { holderStanding, type LockStanding, newHolder, parseHolder } from '../holder.ts'
import { storedEnds } from '../log/codec.ts'
import type { SessionHold } from '../medium.ts'
import { sessionFenced, sessionLocked } from '../session-errors.ts'
import { type LogPositions, parsePosition } from './log-files.ts'
import { type Activity, noteActivity } from './recent-sessions.ts'
import type { Holder } from '../store.ts'

/** The key of the lock in the register of a session's directory, which is also its directory's name there. */
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
  /** What the last holder has noted for lists. */
  activity: Activity | undefined
}

/** A lock, and whether it can be acquired. */
export interface ObservedLock {
  /** Undefined if the lock was never acquired. */
  record: SessionLockRecord | undefined
  standing: LockStanding
  /** The register's own epoch. */
  epoch: number
}

/** Reads the lock of the session in a directory, and judges its holder now. */
export function observeLock(root: string, livenessOf = livenessOfHolder): ObservedLock {
  const register = lockRegister(root)
  let entry = readEntry(register)
  for (;;) {
    const observed = observe(entry, livenessOf)
    if (observed.standing !== 'dead' || observed.record?.holder === undefined) return observed
    // A holder may have released the lock after it was read, and ended before it was judged: then it is not
    // a crash. A process that has ended releases nothing more, so a second look tells.
    const again = readEntry(register)
    if (again.epoch === entry.epoch) return observed
    entry = again
  }
}

const livenessOfHolder = ({ process }: Holder): Liveness => liveness(process)

function observe({ text, epoch }: StepEntry, livenessOf = livenessOfHolder): ObservedLock {
  const record = parseLockRecord(text, epoch)
  return { record, standing: lockStanding(record, Date.now(), livenessOf), epoch }
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
export function acquireLock(root: string, id: string, request: SessionLockRequest): AcquiredLock {
  const register = lockRegister(root)
  for (;;) {
    const entry = readEntry(register)
    const { record: before, standing } = observe(entry)
    if (standing === 'held' && !request.force) throw sessionLocked(id, before?.holder)
    // A torn record has lost its hold epoch: the register and the names of the segments count, too.
    const holdEpoch = Math.max(entry.epoch, before?.holdEpoch ?? 0, request.highestHoldEpoch()) + 1
    if (!isHoldEpoch(holdEpoch))
      throw new StintError('HOME_UNSAFE', `session ${id} has a file with an epoch that is too large`, {
        hint: 'Remove that file, which stint did not write, from the directory of the session.',
      })
    const record = newRecord(request, holdEpoch, request.now)
    const won = swapEntry(register, entry, formatLockRecord(id, record))
    // Otherwise another process was faster: look again.
    if (won === undefined) continue
    const lock = new SessionLock(root, id, won, record)
    lock.note(before?.activity)
    return { lock, standing, before }
  }
}

/** Creates the lock of a session that is being staged: no other process can hold it, or wait for it. */
export function createLock(root: string, id: string, hold: SessionHold, now: number): SessionLock {
  const record = newRecord(hold, 1, now)
  const entry = swapEntry(lockRegister(root), { epoch: 0, text: undefined }, formatLockRecord(id, record))
  if (entry === undefined) throw new Error(`the lock of the new session ${id} exists`)
  return new SessionLock(root, id, entry, record)
}

const newRecord = (hold: SessionHold, holdEpoch: number, now: number): SessionLockRecord => ({
  holder: newHolder(hold, holdEpoch),
  holdEpoch,
  ends: undefined,
  activity: { at: now, isHeld: true },
})

/** The lock of a session while this process holds it: a compare-and-swap register in its directory. */
export class SessionLock {
  readonly #root: string
  readonly #register: StepRegister
  readonly #session: string
  #entry: StepEntry
  #record: SessionLockRecord

  constructor(root: string, session: string, entry: StepEntry, record: SessionLockRecord) {
    this.#root = root
    this.#register = lockRegister(root)
    this.#session = session
    this.#entry = entry
    this.#record = record
  }

  /** This lock, after the directory of its session was renamed. */
  movedTo(root: string): SessionLock {
    return new SessionLock(root, this.#session, this.#entry, this.#record)
  }

  get holdEpoch(): number {
    return this.#record.holdEpoch
  }

  /** Throws `FENCED` if another process has acquired the lock. */
  assertOwned(): void {
    const top = readEntry(this.#register, this.#entry)
    if (top.epoch !== this.#entry.epoch || top.text !== this.#entry.text) throw sessionFenced(this.#session)
  }

  /** Shows lists what the record says. `before` is what they see now. */
  note(before: Activity | undefined): void {
    const { activity } = this.#record
    if (activity !== undefined) noteActivity(this.#root, before, activity)
  }

  /** Records that the holder is alive; `now` is the time of the store's clock. */
  beat(now: number): void {
    const { holder } = this.#record
    if (holder === undefined) return
    const beating = { ...holder, beat: Date.now() }
    if (!this.#replace({ ...this.#record, holder: beating, activity: { at: now, isHeld: true } }))
      throw sessionFenced(this.#session)
  }

  /** Releases the lock. With the ends of the logs, the next holder can skip the recovery. */
  release(ends: LogPositions | undefined, lastAt: number): void {
    this.#release({ ...this.#record, holder: undefined, ends, activity: { at: lastAt, isHeld: false } })
  }

  /** Releases the lock of a session that could not be opened, so that the session is as it was found. */
  restore(before: SessionLockRecord | undefined): void {
    const ends = before?.holder === undefined ? before?.ends : undefined
    // Without the ends the session is judged as crashed, and the next holder recovers it.
    this.#release({
      holdEpoch: this.#record.holdEpoch,
      holder: ends === undefined ? before?.holder : undefined,
      ends,
      activity: before?.activity,
    })
  }

  /** A waiting process may acquire the released lock at once: then the swap only looks lost. */
  #release(record: SessionLockRecord): void {
    this.assertOwned()
    this.#replace(record)
  }

  #replace(record: SessionLockRecord): boolean {
    const won = swapEntry(this.#register, this.#entry, formatLockRecord(this.#session, record))
    if (won === undefined) return false
    const { activity } = this.#record
    this.#entry = won
    this.#record = record
    this.note(activity)
    return true
  }
}

/** Restores the lock after opening has failed. Does not throw: the caller reports why opening failed. */
export function undoAcquire({ lock, before }: AcquiredLock): void {
  try {
    lock.restore(before)
  } catch {
    // Another process has acquired the lock, or it is free when this process ends.
  }
}

const lockRegister = (root: string): StepRegister => linkRegister(root) as StepRegister

const readEntry = (register: StepRegister, known?: StepEntry): StepEntry =>
  explained(
    (error) => codedError(error, 'read the lock of the session'),
    () => runSync(register, register.read(lockKey, known)),
  )

function swapEntry(register: StepRegister, before: StepEntry, text: string): StepEntry | undefined {
  const epoch = explained(
    (error) => codedError(error, 'write the lock of the session'),
    () => runSync(register, register.swap(lockKey, before, text)),
  )
  return epoch === undefined ? undefined : { epoch, text }
}

/** Each text is unique, because the register tells epochs apart by their texts. */
const formatLockRecord = (
  session: string,
  { holder, holdEpoch, ends, activity }: SessionLockRecord,
): string =>
  JSON.stringify({
    schema_version: 1,
    session_id: session,
    nonce: ulid(),
    epoch: holdEpoch,
    holder,
    ends: ends && storedEnds(ends),
    active_at: activity?.at,
  })

/** Reads a record. An invalid one was torn by a power cut: its holder is dead and has not released it. */
function parseLockRecord(text: string | undefined, registerEpoch: number): SessionLockRecord | undefined {
  if (text === undefined) return undefined
  const unknown = { ends: undefined, activity: undefined }
  const torn: SessionLockRecord = { holder: unknownHolder, holdEpoch: registerEpoch, ...unknown }
  const { epoch: holdEpoch, holder: stored, ends, active_at: at } = parseObject(text) ?? {}
  const activity = isCount(at) ? { at, isHeld: stored !== undefined } : undefined
  if (!isHoldEpoch(holdEpoch)) return torn
  if (stored === undefined) return { holder: undefined, holdEpoch, ends: parseEnds(ends), activity }
  const holder = parseHolder(stored, holdEpoch)
  return holder === undefined ? torn : { holder, holdEpoch, ends: undefined, activity }
}

/** Can it, and the epoch after it, be part of the name of a segment? */
const isHoldEpoch = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) > 0 && (value as number) < 999_999_999_999_999

function parseEnds(value: unknown): LogPositions | undefined {
  if (!isRecord(value)) return undefined
  const [journal, audit] = [parsePosition(value.journal), parsePosition(value.audit)]
  return journal === undefined || audit === undefined ? undefined : { journal, audit }
}

/** Stands for a holder whose record is lost: an invisible process whose last heartbeat is long ago. */
const unknownHolder: Holder = {
  process: { pid: 0x7fffffff, started: 0, boot: '', host: '', pidns: '', timens: '' },
  since: 0,
  beat: 0,
  kind: 'writer',
  epoch: 0,
}
