import { isAbsolute } from 'node:path'
import { StintError } from '../base/errors/stint-error.ts'
import { systemClock } from '../base/process/clock.ts'
import { type Identity, type Liveness, liveness, ownIdentity } from '../base/process/liveness.ts'
import { beginMoment, thisMachine } from '../base/process/platform.ts'
import { type ProcessTable, readProcessTable } from '../base/process/process-table.ts'
import {
  type Claim,
  type ClaimsRecord,
  countableTime,
  formatClaimsRecord,
  generationAt,
  hasPass,
  noClaims,
  parseClaimsRecord,
  replaceUnreadable,
} from './claim-record.ts'
import type { Observation } from './claim-status.ts'
import { isDeserted } from './claim-work.ts'
import type { LeaseTarget } from './lease-target.ts'
import { withFolded, withMarks } from './marks.ts'
import type { Now, Register, Steps } from './register.ts'
import type { Decision } from './rules.ts'

/** The claims on a workspace or resource at one moment. */
export interface ClaimsView {
  epoch: number
  record: ClaimsRecord
  observation: Observation
}

/** The answer of a decision that was carried out, and the claims after it, changed or not. */
export interface Decided<Answer> extends ClaimsView {
  answer: Answer
  /** The claims before it; absent if nothing changed. */
  before?: ClaimsRecord
  /** This process's monotonic clock, in milliseconds, before the register's time was read. */
  startedAtMs: number
}

/**
 * Decides about claims. `tried` is the answer of an earlier attempt whose swap did not report a win: the swap
 * was lost, or it won and was overtaken, and `record` contains its result. A decision must be idempotent.
 */
export type Decide<Answer> = (
  record: ClaimsRecord,
  observation: Observation,
  nextFence: number,
  tried: Answer | undefined,
) => Decision<Answer>

/** Looks at a decision that changes the record, before it is carried out; returns it, or another one. */
export type Review<Answer, Other> = (
  decision: Decision<Answer>,
  view: ClaimsView,
) => Steps<unknown, Decision<Answer | Other>>

interface KnownRecord {
  epoch: number
  /** The string in the register; undefined if there is none. */
  text: string | undefined
  record: ClaimsRecord
  /** When this process wrote it, on the monotonic clock. */
  writtenAtMs?: number
}

/** How far a fence jumps where epochs may have been lost. */
const generationStep = 2 ** 20

/**
 * For this long after writing a record, a process decides on its own copy of it instead of reading. If
 * another process has written since, the swap fails, and the next attempt reads.
 */
const justWrittenMs = 2

/** What this process last read or wrote, by register and key. */
const knownRecords = new WeakMap<Register, Map<string, KnownRecord>>()

/**
 * The record of the claims on one workspace or resource, in a register. Its operations are generators of the
 * register's steps: `WorkspaceClaims` runs them to their end.
 */
export class StoredClaims {
  readonly #register: Register
  readonly #target: LeaseTarget
  readonly #liveness: (process: Identity) => Liveness

  constructor(register: Register, target: LeaseTarget, liveness: (process: Identity) => Liveness) {
    this.#register = register
    this.#target = target
    this.#liveness = liveness
  }

  /** The claims now. */
  *read(): Steps<unknown, ClaimsView> {
    const { epoch, record } = yield* this.#readRecord()
    const observation = yield* this.#observe()
    return { epoch, record: yield* this.#marked(record, observation), observation }
  }

  /** Whether the register still has the record of a view, without the marks of calls. */
  *isUnchanged({ epoch }: ClaimsView): Steps<unknown, boolean> {
    return (yield* this.#readRecord()).epoch === epoch
  }

  /**
   * Reads the record, decides, and swaps the result in; again until no other writer came in between. `review`
   * may replace a decision that changes the record, by what only the register can tell. While hooks may begin
   * calls with marks, a change closes their passes first, and decides again on all marks: see `marks.ts`.
   */
  *change<Answer, Other = never>(
    decide: Decide<Answer>,
    review?: Review<Answer, Other>,
  ): Steps<unknown, Decided<Answer | Other>> {
    let remembered = ifJustWritten(this.#known())
    let tried: Answer | undefined
    for (;;) {
      const startedAtMs = systemClock.mono()
      const found = remembered ?? (yield* this.#readRecord())
      const observation = yield* this.#observe()
      const before = found.text === undefined ? yield* this.#startOf(found, observation.now) : found
      const stored = inThisBoot(before, observation.now)
      const record = yield* this.#marked(stored, observation)
      const fence = record.generation * generationStep + before.epoch + 1
      const decision = decide(record, observation, fence, tried)
      const reviewed =
        review === undefined || decision.next === undefined
          ? decision
          : yield* review(decision, { epoch: before.epoch, record, observation })
      const { next, answer } = reviewed
      if (next === undefined) {
        // A refusal based on a remembered record could be out of date: read, and decide again. What a review
        // refuses is based on what it has read.
        if (remembered === undefined || reviewed !== decision)
          return { answer, epoch: found.epoch, record, observation, startedAtMs }
      } else if (hasPass(stored) && stored.closed !== true) {
        remembered = yield* this.#swap(before, { ...stored, closed: true })
        continue
      } else {
        const written = yield* this.#swap(
          before,
          hasPass(next) || next.closed ? withFolded(next, before.epoch) : next,
        )
        if (written !== undefined)
          return { answer, epoch: written.epoch, before: record, record: next, observation, startedAtMs }
        tried = reviewed === decision ? decision.answer : undefined
      }
      remembered = undefined
    }
  }

  /** Swaps in a record, and remembers it; undefined if another writer was faster. */
  *#swap(before: KnownRecord, record: ClaimsRecord): Steps<unknown, KnownRecord | undefined> {
    const text = formatClaimsRecord(record, nextWriteId())
    const epoch = yield* this.#register.swap(this.#target.key, before, text)
    if (epoch === undefined) return undefined
    return this.#remember({ epoch, text, record, writtenAtMs: systemClock.mono() })
  }

  /** The record with the calls that are only in marks. */
  *#marked(record: ClaimsRecord, { now }: Observation): Steps<unknown, ClaimsRecord> {
    return hasPass(record) ? yield* withMarks(this.#register, this.#target.key, record, now) : record
  }

  /**
   * Where the epochs of a key start that has no record: at the wall clock, in milliseconds. The key may have
   * had epochs that a power cut or a sweep has removed, and neither they nor their fences may come again.
   */
  *#startOf(found: KnownRecord, now: Now): Steps<unknown, KnownRecord> {
    const sweptUntil = yield* readSweptUntil(this.#register)
    return { ...found, epoch: Math.max(countableTime(now.wall), sweptUntil) }
  }

  *#observe(): Steps<unknown, Observation> {
    const now = yield* this.#register.now(this.#target.key)
    beginMoment()
    return observe(now, lookingOnce(this.#liveness), this.#target.name)
  }

  *#readRecord(): Steps<unknown, KnownRecord> {
    const register = this.#register
    const { key, name } = this.#target
    const known = this.#known()
    const { epoch, text } = yield* register.read(key, known)
    if (known !== undefined && epoch === known.epoch && text === known.text) return known
    if (text === undefined) return { epoch, text, record: noClaims(name) }
    const record = parseClaimsRecord(text, name)
    if (record === undefined) {
      const now = yield* register.now(key)
      const writtenAt = yield* register.writtenAt(key)
      return { epoch, text, record: replaceUnreadable(name, bootOf(now), now, writtenAt) }
    }
    if (record.workspace === name) return this.#remember({ epoch, text, record })
    throw new StintError('LOCK_KEY_COLLISION', `${name} and ${record.workspace} have the same key ${key}`, {
      detail: `key=${key} theirs=${record.workspace}`,
    })
  }

  #known(): KnownRecord | undefined {
    const known = knownRecords.get(this.#register)?.get(this.#target.key)
    return known?.record.workspace === this.#target.name ? known : undefined
  }

  #remember(known: KnownRecord): KnownRecord {
    const records = knownRecords.get(this.#register) ?? new Map<string, KnownRecord>()
    knownRecords.set(this.#register, records)
    records.set(this.#target.key, known)
    return known
  }
}

const ifJustWritten = (known: KnownRecord | undefined): KnownRecord | undefined =>
  known?.writtenAtMs !== undefined && systemClock.mono() - known.writtenAtMs < justWrittenMs
    ? known
    : undefined

let writes = 0
let writer: string | undefined

/** Makes every record that is ever written unique: a register recognises an epoch by its text. */
function nextWriteId(): { writer: string; count: number } {
  writer ??= nameWriter()
  writes += 1
  return { writer, count: writes }
}

/** Worker threads and other copies of this library have the same pid: the nanosecond tells them apart. */
function nameWriter(): string {
  const { pid, started } = ownIdentity()
  const nanosecond = process.hrtime.bigint() % 1_000_000_000n
  return [pid, started ?? 0, nanosecond].map((number) => number.toString(36)).join('.')
}

/** An observation of claims on `name`. The processes of this machine are read if a decision asks for them. */
export function observe(now: Now, liveness: Observation['liveness'], name: string): Observation {
  let table: ProcessTable | undefined
  const processes = (): ProcessTable => (table ??= readProcessTable())
  return { now, liveness, processes, ...(isAbsolute(name) && { workspace: name }) }
}

/** Looks at each process once: the rules ask about a holder again and again, and judge one moment. */
export function lookingOnce(liveness: Observation['liveness']): Observation['liveness'] {
  const seen = new Map<string, Liveness>()
  return (process) => {
    const { pid, started, boot, host, pidns, timens } = process
    const name = `${pid} ${started} ${boot} ${host} ${pidns} ${timens}`
    const known = seen.get(name) ?? liveness(process)
    seen.set(name, known)
    return known
  }
}

/**
 * An observation for telling people what the session of a claim does. It reads the processes of that session
 * only; those of a dead agent and of a turn that has ended can be anywhere.
 */
export function observeSession(claim: Claim, observation: Observation): Observation {
  if (observation.processes === undefined || claim.turn_ended || isDeserted(claim, observation))
    return observation
  let table: ProcessTable | undefined
  return { ...observation, processes: () => (table ??= readProcessTable(claim.holders)) }
}

/** Enough of the boot id to tell this boot from the last. */
const bootOf = ({ era }: Now): string => era ?? thisMachine().boot.slice(0, 8)

/**
 * The record with this boot's generation. A reboot may lose unsynced epochs, and fences must not repeat, so
 * the first change after it jumps ahead: to the current minute, as the last jump may be lost, too. For the
 * same reason a key without a record has the minute of its start.
 */
function inThisBoot({ epoch, text, record }: KnownRecord, now: Now): ClaimsRecord {
  const boot = bootOf(now)
  if (text === undefined) return { ...record, boot, generation: generationAt(epoch) }
  if (record.boot === boot) return record
  return { ...record, boot, generation: Math.max(record.generation + 1, generationAt(now.wall)) }
}

/** The key of a number, in the register itself: the latest wall time of a sweep that removed keys. */
export const sweptUntilKey = 'swept-until'

/** No key may start before this time, even if the clock was set back: swept epochs would come again. */
export function* readSweptUntil(register: Register): Steps<unknown, number> {
  return Number((yield* register.read(sweptUntilKey)).text) || 0
}

/** How liveness is judged for the holders in a register. */
export const livenessFor = ({ shared }: Register): ((process: Identity) => Liveness) =>
  shared ? livenessInThisBoot : liveness

/** For a shared register. Clones of one image have one machine id, so only this boot's dead are known. */
function livenessInThisBoot(process: Identity): Liveness {
  const { boot } = thisMachine()
  return boot !== '' && process.boot === boot ? liveness(process) : 'unknown'
}
