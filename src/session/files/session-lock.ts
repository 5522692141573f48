import { fileRegister, type RegisterEntry, syncRegister } from '../../lease/index.ts'
import { liveness } from '../../base/process/liveness.ts'
import { codedError, StintError } from '../../base/errors/stint-error.ts'
import { type LockStanding, newHolder } from '../holder.ts'
import { sessionFenced, sessionLocked } from '../session-errors.ts'
import type { Holder } from '../store.ts'
import {
  isEpoch,
  type SessionLockRecord,
  formatLockRecord,
  parseLockRecord,
  lockStanding,
} from './lock-record.ts'
import type { LogPositions } from './logs.ts'

/** In the directory of its session. */
export const lockName = 'lock'

export interface TakeRequest {
  kind: Holder['kind']
  purpose?: string
  /** The highest epoch that the names in the session's directory show. */
  highestEpoch: number
  /** Take it from whoever holds it. */
  force?: boolean
}

/** A lock that has been taken, and how it was found. */
export interface TakenLock {
  lock: SessionLock
  standing: LockStanding
  before: SessionLockRecord | undefined
}

/** A lock that may be taken, as it was found. */
export interface LockAttempt extends Omit<TakenLock, 'lock'> {
  /** The epoch of the hold. */
  epoch: number
  /** Takes the lock; undefined if it has changed since it was found. */
  take(): SessionLock | undefined
}

/** A lock as another process sees it. */
export interface ObservedLock {
  record: SessionLockRecord | undefined
  standing: LockStanding
}

export function observeLock(directory: string): ObservedLock {
  const record = SessionLock.look(directory)
  return { record, standing: standingNow(record) }
}

const standingNow = (record: SessionLockRecord | undefined): LockStanding =>
  lockStanding(record, Date.now(), ({ process }) => liveness(process))

/** The single-writer lock of a session: a compare-and-swap register in its directory. */
export class SessionLock {
  readonly #register
  readonly #session: string
  #held: RegisterEntry
  #record: SessionLockRecord

  /** What the lock says now; undefined if it was never taken. */
  static look(directory: string): SessionLockRecord | undefined {
    const { epoch, text } = readLock(lockRegister(directory))
    return parseLockRecord(text, epoch)
  }

  /** Prepares to take the lock, or throws `SESSION_LOCKED` with the living holder. */
  static attempt(directory: string, session: string, request: TakeRequest): LockAttempt {
    const register = lockRegister(directory)
    const held = readLock(register)
    const before = parseLockRecord(held.text, held.epoch)
    const standing = standingNow(before)
    if (standing === 'held' && !request.force) throw sessionLocked(session, before?.holder)
    const epoch = Math.max(held.epoch, before?.epoch ?? 0, request.highestEpoch) + 1
    if (!isEpoch(epoch))
      throw new StintError('HOME_UNSAFE', `session ${session} has a file with an epoch that is too large`)
    return {
      epoch,
      before,
      standing,
      take() {
        const record = { holder: newHolder(request, epoch), epoch, ends: undefined }
        const won = swapLock(register, held.epoch, formatLockRecord(session, record))
        return won === undefined ? undefined : new SessionLock(directory, session, won, record)
      },
    }
  }

  /** For a session whose directory has moved since. */
  constructor(directory: string, session: string, held: RegisterEntry, record: SessionLockRecord) {
    this.#register = lockRegister(directory)
    this.#session = session
    this.#held = held
    this.#record = record
  }

  /** The same lock in another place. */
  movedTo(directory: string): SessionLock {
    return new SessionLock(directory, this.#session, this.#held, this.#record)
  }

  get epoch(): number {
    return this.#record.epoch
  }

  get holder(): Holder | undefined {
    return this.#record.holder
  }

  /** Throws `FENCED` if somebody else has taken it. */
  assertOurs(): void {
    const top = this.#register.read(lockName, this.#held)
    if (top.epoch !== this.#held.epoch || top.text !== this.#held.text) throw sessionFenced(this.#session)
  }

  /** Says that the holder lives. */
  beat(now: number): void {
    if (this.#record.holder === undefined) return
    this.#change({ ...this.#record, holder: { ...this.#record.holder, beat: now } })
  }

  /** Gives it back, with where the logs end: the next one can go on there without reading them. Without, it must recover. */
  release(ends: LogPositions | undefined): void {
    this.#let({ ...this.#record, holder: undefined, ends })
  }

  /** As if it had not been taken: what could not be opened stays as it was found. */
  giveBack(before: SessionLockRecord | undefined): void {
    const ends = before?.holder === undefined ? before?.ends : undefined
    // Without its ends it counts as never closed, and the next one recovers it.
    this.#let({ epoch: this.#record.epoch, holder: ends === undefined ? before?.holder : undefined, ends })
  }

  /** Lets go of it. Whoever waits takes it in the same moment: then our own change looks lost, and was not. */
  #let(record: SessionLockRecord): void {
    this.assertOurs()
    this.#try(record)
  }

  #change(record: SessionLockRecord): void {
    if (!this.#try(record)) throw sessionFenced(this.#session)
  }

  #try(record: SessionLockRecord): boolean {
    const won = swapLock(this.#register, this.#held.epoch, formatLockRecord(this.#session, record))
    if (won === undefined) return false
    this.#held = won
    this.#record = record
    return true
  }
}

/** After something failed. The caller must hear of that, not of what fails now: the lock was given back, or somebody else has taken it. */
export function undoTake({ lock, before }: TakenLock): void {
  try {
    lock.giveBack(before)
  } catch {
    // Without it, the lock is free when this process ends.
  }
}

/** What a writer asks of the lock it holds. */
export type WriterLock = Pick<SessionLock, 'epoch' | 'assertOurs' | 'beat' | 'release'>

const lockRegister = (directory: string) => syncRegister(fileRegister(directory))

type LockRegister = ReturnType<typeof lockRegister>

function readLock(register: LockRegister): RegisterEntry {
  try {
    return register.read(lockName)
  } catch (error) {
    throw codedError(error, 'read the lock of the session')
  }
}

function swapLock(register: LockRegister, expected: number, text: string): RegisterEntry | undefined {
  try {
    const epoch = register.swap(lockName, expected, text)
    return epoch === undefined ? undefined : { epoch, text }
  } catch (error) {
    throw codedError(error, 'write the lock of the session')
  }
}
