import type { AuditRecord, UnsettledAct } from './store.ts'
import { AsyncLocalStorage } from 'node:async_hooks'
import { errorCode, errorMessage, StintError } from '../base/errors/stint-error.ts'
import { ulid } from '../base/text/id.ts'
import { applyAuditRecord, auditRecordFrom, auditRecordOf, type FoldedState } from './state.ts'
import type { LogEntry, StoredReceipt } from './log/record.ts'
import { type AuditFields, checkObject, makeAuditEntry, type RegisteredSecrets } from './entries.ts'
import type { SessionLog } from './session-log.ts'
import type { Act, ActOutcome } from './session.ts'

/** What the act with a key does, as its intent says. */
type Deed = Pick<Act, 'action' | 'subject'>

/** The state of the act with a key, from the audit log. */
type Fate = Deed &
  (
    | { state: 'unsettled'; act: string; at: number }
    | { state: 'done'; result: unknown }
    | { state: 'failed'; message: string }
  )

/**
 * The acts within which the caller runs. One storage for all sessions: every promise of the process pays for
 * each storage that was ever created.
 */
const underWay = new AsyncLocalStorage<readonly { acts: SessionActs; key: string }[]>()

/** The audit log of a held session, and how to append to it. */
type AuditLog = Pick<SessionLog, 'append' | 'records'>

/** The acts of a session and its audit log, which has each of them before and after it is done. */
export class SessionActs {
  readonly #log: AuditLog
  readonly #state: FoldedState
  readonly #secrets: RegisteredSecrets
  /** The acts with a key, by it. They are read from the audit log when the first act with a key is done. */
  readonly #fates = new Map<string, Fate>()
  /** The acts with a key that have no outcome yet, by their names. */
  readonly #begun = new Map<string, Deed & { key: string }>()
  #isRead = false
  #reading: Promise<void> | undefined
  /** Work that adds lines to the audit log. An act with a key waits for it: a line may settle that act. */
  readonly #adding = new Set<Promise<unknown>>()
  readonly #running = new Map<string, { deed: Deed; result: Promise<unknown> }>()

  constructor(log: AuditLog, state: FoldedState, secrets: RegisteredSecrets) {
    this.#log = log
    this.#state = state
    this.#secrets = secrets
  }

  /** Performs an act. With a key it is performed once in the life of the session. */
  async act<T>(act: Act, perform: () => Promise<T> | T, again: boolean): Promise<T> {
    checkObject(act, 'an act must be an object with an `action`')
    const { key } = act
    if (key === undefined) return await this.#perform(act, perform)
    const within = underWay.getStore() ?? []
    if (within.some(({ acts, key: other }) => acts === this && other === key)) throw waitsForItself(key)
    const running = this.#running.get(key)
    if (running !== undefined) {
      this.#refuseMismatch(key, running.deed, act)
      return (await running.result) as T
    }
    const performing = underWay.run([...within, { acts: this, key }], () =>
      this.#performOnce(key, act, perform, again),
    )
    this.#running.set(key, { deed: { ...act }, result: performing })
    try {
      return await performing
    } finally {
      this.#running.delete(key)
    }
  }

  /** Records how an act ended that has no outcome; `ARG_ERROR` if it has one by now. */
  async settle({ act, action }: UnsettledAct, outcome: ActOutcome): Promise<void> {
    if (!this.#state.unsettled.has(act))
      throw new StintError('ARG_ERROR', `the act ${action} (${act}) has an outcome already`)
    checkObject(outcome, 'the outcome of an act is `{ ok: true, result }` or `{ ok: false, error }`')
    await this.#recordOutcome({ act, action }, outcome)
  }

  async #recordOutcome({ act, action }: { act: string; action: string }, outcome: ActOutcome): Promise<void> {
    await this.record({ ...outcome, action, phase: 'outcome', act })
  }

  /** Appends a line to the audit log. Acts with a key that begin meanwhile wait for it. */
  async record(fields: AuditFields): Promise<{ seq: number; hash: string }> {
    const adding = this.#append(makeAuditEntry(fields, this.#secrets.gate))
    this.#adding.add(adding)
    try {
      const { seq, hash = '' } = await adding
      return { seq, hash }
    } finally {
      this.#adding.delete(adding)
    }
  }

  async #append(entry: LogEntry): Promise<StoredReceipt> {
    // Lines are applied in their order, so none is added while the others are read.
    await this.#reading?.catch(() => {})
    const applied = (receipt: StoredReceipt): void => {
      const record = auditRecordFrom(entry, receipt)
      applyAuditRecord(this.#state, record)
      if (this.#isRead) this.#apply(record)
    }
    return await this.#log.append('audit', entry, { applied })
  }

  /** Reads the acts with a key. If that fails, the next act reads again. */
  async #read(): Promise<void> {
    this.#fates.clear()
    this.#begun.clear()
    for await (const record of this.#log.records('audit')) this.#apply(auditRecordOf(record))
    this.#isRead = true
  }

  #apply({ type, act, key, at, action, subject, ok, result, error }: AuditRecord): void {
    if (act === undefined) return
    if (type === 'intent' && key !== undefined) {
      this.#begun.set(act, { key, action, subject })
      this.#fates.set(key, { state: 'unsettled', act, at, action, subject })
    }
    const begun = this.#begun.get(act)
    if (type !== 'outcome' || begun === undefined) return
    this.#begun.delete(act)
    const deed = { action: begun.action, subject: begun.subject }
    this.#fates.set(
      begun.key,
      ok === false
        ? { state: 'failed', message: error?.message ?? 'it failed', ...deed }
        : { state: 'done', result, ...deed },
    )
  }

  async #performOnce<T>(key: string, act: Act, perform: () => Promise<T> | T, again: boolean): Promise<T> {
    await this.#reading
    while (this.#adding.size > 0) await Promise.allSettled(this.#adding)
    if (!this.#isRead) await (this.#reading ??= this.#read().finally(() => (this.#reading = undefined)))
    const recordedKey = this.#secrets.gate.text(key)
    const before = this.#fates.get(recordedKey)
    if (before !== undefined) this.#refuseMismatch(key, before, act)
    refuseRepeat(key, before, again)
    const isDone = before?.state === 'done' && !again
    const result = isDone ? undefined : await this.#perform(act, perform)
    // The first call returns what was recorded, too, as every later one will: JSON, without secrets. A copy,
    // because the caller may change it.
    const after = this.#fates.get(recordedKey)
    return after?.state === 'done' ? (structuredClone(after.result) as T) : (result as T)
  }

  /** `ACT_MISMATCH` if the key belongs to another act, whose result would be taken for that of this one. */
  #refuseMismatch(key: string, recordedDeed: Deed, askedDeed: Deed): void {
    // A secret may have become known since the intent was recorded: compare both without secrets.
    const [recorded, asked] = [recordedDeed, askedDeed].map(({ action, subject }) =>
      this.#secrets.gate.stringify(subject === undefined ? [action] : [action, subject]),
    )
    if (recorded === asked) return
    throw new StintError(
      'ACT_MISMATCH',
      `the key ${JSON.stringify(key)} belongs to the act ${recorded}, not to ${asked}`,
    )
  }

  async #perform<T>(act: Act, perform: () => Promise<T> | T): Promise<T> {
    const intent = { act: `act_${ulid()}`, action: act.action }
    await this.record({ ...act, phase: 'intent', act: intent.act })
    let result: T
    try {
      result = await perform()
    } catch (error) {
      await this.#recordOutcome(intent, { ok: false, error: describeFailure(error) }).catch(() => {
        // The caller must see the error of the act. `unsettled` shows that the outcome is missing.
      })
      throw error
    }
    await this.#recordDone(intent, result)
    return result
  }

  /** Records that an act was done. If JSON cannot hold its result, the outcome is recorded without it. */
  async #recordDone(intent: { act: string; action: string }, result: unknown): Promise<void> {
    try {
      await this.#recordOutcome(intent, { ok: true, result })
    } catch (error) {
      if (errorCode(error) !== 'ARG_ERROR') throw error
      await this.#recordOutcome(intent, { ok: true, result: undefined })
      throw new StintError(
        'ARG_ERROR',
        `the act was done, and its result was not recorded: ${errorMessage(error)}`,
        {
          cause: error,
          hint: 'Return what JSON can hold, or nothing; a later call with the same key returns undefined.',
        },
      )
    }
  }
}

/** Throws if an act with this fate may be repeated only by an explicit decision of the caller. */
function refuseRepeat(key: string, fate: Fate | undefined, again: boolean): void {
  if (fate === undefined || fate.state === 'done' || again) return
  if (fate.state === 'failed')
    throw new StintError(
      'ACT_FAILED',
      `the act with the key ${JSON.stringify(key)} has failed: ${fate.message}`,
    )
  const begun = new Date(fate.at).toISOString()
  throw new StintError(
    'ACT_UNCERTAIN',
    `the act with the key ${JSON.stringify(key)} was begun at ${begun}, and no outcome was recorded`,
    { detail: `act=${fate.act} action=${fate.action}` },
  )
}

/** An act that is started within itself would wait for itself for ever. */
const waitsForItself = (key: string): StintError =>
  new StintError('ARG_ERROR', `the act with the key ${JSON.stringify(key)} is started within itself`, {
    hint: 'Give the inner act a key of its own.',
  })

/** Describes a thrown value, of whatever type, for the outcome of an act. */
function describeFailure(error: unknown): { code?: string; message: string } {
  try {
    const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown }
    return {
      ...(typeof code === 'string' ? { code } : {}),
      message: typeof message === 'string' ? message : String(error),
    }
  } catch {
    return { message: `a thrown ${typeof error}` }
  }
}
