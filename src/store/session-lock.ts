import { hostname } from 'node:os'
import { fileRegister } from '../lease/file-register.ts'
import { type Held, runSync } from '../lease/register.ts'
import { parsePosition, type Position } from '../journal/position.ts'
import { codedError, StintError } from '../primitives/stint-error.ts'
import { type Identity, type Liveness, liveness, ownIdentity } from '../primitives/liveness.ts'
import { thisMachine } from '../primitives/platform.ts'
import { formatDuration } from '../primitives/duration.ts'
import { ulid } from '../primitives/id.ts'
import { confirmTouch, type Touch, touchSession } from './filesystem/index-touch.ts'
import { parseHolder } from './holder.ts'
import type { Holder } from './store.ts'

/** Where both logs of a session end. */
export interface LogEnds {
  journal: Position
  audit: Position
}

/** What the lock of a session says. */
export interface LockRecord {
  /** Undefined once it was released. */
  holder: Holder | undefined
  /** The epoch with which its writer marks what it writes. */
  epoch: number
  /** How it was left by a writer that released it. */
  ends: LogEnds | undefined
}

/** A holder whose life cannot be seen says every 30 s that it lives, and has lost the session when it did not for so long. */
export const silenceMs = 5 * 60_000

/** - `released`: nobody can be writing. `dead`: neither, but it was not closed. `silent`: somebody may be, and must be fenced. */
export type Standing = 'never' | 'released' | 'dead' | 'silent' | 'held'

/** Over plain data: may a session with this lock be taken? */
export function standingOf(
  record: LockRecord | undefined,
  now: number,
  alive: (holder: Holder) => Liveness,
): Standing {
  if (record === undefined) return 'never'
  // Without its ends nobody has closed it.
  if (record.holder === undefined) return record.ends === undefined ? 'dead' : 'released'
  const life = alive(record.holder)
  if (life === 'dead') return 'dead'
  return life === 'unknown' && now - record.holder.beat > silenceMs ? 'silent' : 'held'
}

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

export interface Taken {
  lock: SessionLock
  /** The mark that it was taken, in the index of all sessions. */
  touch: Touch | undefined
  /** How it was found. */
  standing: Standing
  before: LockRecord | undefined
}

/** The single-writer lock of a session: a compare-and-swap register in its directory. */
export class SessionLock {
  readonly #register
  readonly #session: string
  #held: Held
  #record: LockRecord

  /** What the lock says now; undefined if it was never taken, or makes no sense. */
  static look(directory: string): LockRecord | undefined {
    const { epoch, text } = readLock(fileRegister(directory))
    return parseLock(text, epoch)
  }

  /** Takes it, or throws `SESSION_LOCKED` with the living holder. */
  static take(directory: string, session: string, request: TakeRequest): Taken {
    const register = fileRegister(directory)
    for (;;) {
      const held = readLock(register)
      const before = parseLock(held.text, held.epoch)
      const standing = standingOf(before, Date.now(), ({ process }) => liveness(process))
      if (standing === 'held' && !request.force) throw locked(session, before?.holder)
      const now = Date.now()
      const epoch = Math.max(held.epoch, before?.epoch ?? 0, request.highestEpoch) + 1
      if (!isEpoch(epoch))
        throw new StintError('HOME_UNSAFE', `session ${session} has a file of an epoch that never existed`)
      const { kind, purpose } = request
      const holder: Holder = { process: ownIdentity(), since: now, beat: now, kind, purpose, epoch }
      const record = { holder, epoch, ends: undefined }
      const touch = touchSession(directory, epoch)
      const won = swapLock(register, held.epoch, write(session, record))
      if (won === undefined) continue
      confirmTouch(touch)
      return { lock: new SessionLock(directory, session, won, record), touch, standing, before }
    }
  }

  /** For a session whose directory has moved since. */
  constructor(directory: string, session: string, held: Held, record: LockRecord) {
    this.#register = fileRegister(directory)
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
    const top = runSync(this.#register, this.#register.read(lockName, this.#held))
    if (top.epoch !== this.#held.epoch || top.text !== this.#held.text) throw fenced(this.#session)
  }

  /** Says that the holder lives. */
  beat(now: number): void {
    if (this.#record.holder === undefined) return
    this.#change({ ...this.#record, holder: { ...this.#record.holder, beat: now } })
  }

  /** Gives it back, with where the logs end: the next one can go on there without reading them. Without, it must recover. */
  release(ends: LogEnds | undefined): void {
    this.#let({ ...this.#record, holder: undefined, ends })
  }

  /** As if it had not been taken: what could not be opened stays as it was found. */
  giveBack(before: LockRecord | undefined): void {
    const ends = before?.holder === undefined ? before?.ends : undefined
    // Without its ends it counts as never closed, and the next one recovers it.
    this.#let({ epoch: this.#record.epoch, holder: ends === undefined ? before?.holder : undefined, ends })
  }

  /** Lets go of it. Whoever waits takes it in the same moment: then our own change looks lost, and was not. */
  #let(record: LockRecord): void {
    this.assertOurs()
    this.#try(record)
  }

  #change(record: LockRecord): void {
    if (!this.#try(record)) throw fenced(this.#session)
  }

  #try(record: LockRecord): boolean {
    const won = swapLock(this.#register, this.#held.epoch, write(this.#session, record))
    if (won === undefined) return false
    this.#held = won
    this.#record = record
    return true
  }
}

/** After something failed. The caller must hear of that, not of what fails now: the lock was given back, or somebody else has taken it. */
export function giveBack({ lock, before }: Taken): void {
  try {
    lock.giveBack(before)
  } catch {
    // Without it, the lock is free when this process ends.
  }
}

/** What a writer asks of the lock it holds. */
export type WriterLock = Pick<SessionLock, 'epoch' | 'assertOurs' | 'beat' | 'release'>

type FileRegister = ReturnType<typeof fileRegister>

function readLock(register: FileRegister): Held {
  try {
    return runSync(register, register.read(lockName))
  } catch (error) {
    throw codedError(error, 'read the lock of the session')
  }
}

function swapLock(register: FileRegister, expected: number, text: string): Held | undefined {
  try {
    const epoch = runSync(register, register.swap(lockName, expected, text))
    return epoch === undefined ? undefined : { epoch, text }
  } catch (error) {
    throw codedError(error, 'write the lock of the session')
  }
}

/** No two texts are alike: by its text an epoch of the register is known again. */
const write = (session: string, { holder, epoch, ends }: LockRecord): string =>
  JSON.stringify({ schema_version: 1, session_id: session, nonce: ulid(), epoch, holder, ends })

/** What does not make sense was torn by a power cut: nobody holds it, but it was not released either. */
function parseLock(text: string | undefined, registerEpoch: number): LockRecord | undefined {
  if (text === undefined) return undefined
  const unclear: LockRecord = { holder: deadHolder, epoch: registerEpoch, ends: undefined }
  let value: Record<string, unknown>
  try {
    value = JSON.parse(text) as Record<string, unknown>
  } catch {
    return unclear
  }
  if (typeof value !== 'object' || value === null || !isEpoch(value.epoch)) return unclear
  const { epoch } = value
  if (value.holder === undefined) return { holder: undefined, epoch, ends: parseEnds(value.ends) }
  const holder = parseHolder(value.holder, epoch)
  return holder === undefined ? unclear : { holder, epoch, ends: undefined }
}

/** What the name of a segment can have, and the next one's. */
const isEpoch = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) > 0 && (value as number) < 999_999_999_999_999

function parseEnds(value: unknown): LogEnds | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { journal, audit } = value as Record<string, unknown>
  const [one, other] = [parsePosition(journal), parsePosition(audit)]
  return one === undefined || other === undefined ? undefined : { journal: one, audit: other }
}

/** Stands for a holder that nobody can name any more. */
const deadHolder: Holder = {
  process: { pid: 0x7fffffff, started: 0, boot: '', host: '', pidns: '', timens: '' },
  since: 0,
  beat: 0,
  kind: 'writer',
  epoch: 0,
}

const fenced = (session: string): StintError =>
  new StintError('FENCED', `session ${session} was taken over by another process: nothing more is written`)

export function locked(session: string, holder: Holder | undefined): StintError {
  if (holder === undefined) return new StintError('SESSION_LOCKED', `session ${session} is in use`)
  const { process: owner, since, purpose } = holder
  const age = formatDuration(Math.max(0, Date.now() - since))
  const doing = purpose === undefined ? '' : ` (${purpose})`
  return new StintError(
    'SESSION_LOCKED',
    `session ${session} is held by pid ${owner.pid}${doing} for ${age}`,
    {
      detail: `session=${session} pid=${owner.pid} since=${new Date(since).toISOString()}`,
      facts: {
        holder: { pid: owner.pid, host: hostOf(owner), since: new Date(since).toISOString(), purpose },
      },
    },
  )
}

/** The name of its machine, if it is the one we are on: no record has the name of another. */
function hostOf({ host, pidns }: Identity): string | undefined {
  const here = thisMachine()
  return host === here.host && pidns === here.pidns ? hostname() : undefined
}
