import { AsyncLocalStorage } from 'node:async_hooks'
import { errorCode, errorMessage, StintError } from '../base/errors/stint-error.ts'
import { ulid } from '../base/text/id.ts'
import { type AuditRecord, auditRecordFrom, auditRecordOf, type UnsettledAct } from './audit-record.ts'
import type { StoredReceipt } from './log/record.ts'
import { type AuditFields, checkObject, makeAuditEntry } from './make-entry.ts'
import type { SessionLog } from './session-log.ts'
import type { RegisteredSecrets } from './session-secrets.ts'
import { type FoldedState, applyAuditRecord } from './state.ts'
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
  /** Read from the audit log when the first act with a key is done. */
  #known: KeyedActs | undefined
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

  /** Appends a line to the audit log. */
  async record(fields: AuditFields): Promise<{ seq: number; hash: string }> {
    const entry = makeAuditEntry(fields, this.#secrets.gate)
    const applied = (receipt: StoredReceipt): void => this.#apply(auditRecordFrom(entry, receipt))
    const { seq, hash = '' } = await this.#whileAdding(this.#log.append('audit', entry, { applied }))
    return { seq, hash }
  }

  /** Takes a line that was added to the audit log, when it is durable. */
  #apply(record: AuditRecord): void {
    applyAuditRecord(this.#state, record)
    this.#known?.add(record)
  }

  /** Waits for work that adds lines to the audit log. Acts with a key that begin meanwhile wait, too. */
  async #whileAdding<T>(work: Promise<T>): Promise<T> {
    this.#adding.add(work)
    try {
      return await work
    } finally {
      this.#adding.delete(work)
    }
  }

  async #performOnce<T>(key: string, act: Act, perform: () => Promise<T> | T, again: boolean): Promise<T> {
    if (this.#adding.size > 0) await Promise.allSettled(this.#adding)
    const acts = (this.#known ??= this.#read())
    await acts.read
    const recordedKey = this.#secrets.gate.text(key)
    const before = acts.fateOf(recordedKey)
    if (before !== undefined) this.#refuseMismatch(key, before, act)
    refuseRepeat(key, before, again)
    const isDone = before?.state === 'done' && !again
    const result = isDone ? undefined : await this.#perform(act, perform)
    // The first call returns what was recorded, too, as every later one will: JSON, without secrets. A copy,
    // because the caller may change it.
    const after = acts.fateOf(recordedKey)
    return after?.state === 'done' ? (structuredClone(after.result) as T) : (result as T)
  }

  /** `ACT_MISMATCH` if the key belongs to another act, whose result would be taken for that of this one. */
  #refuseMismatch(key: string, used: Deed, given: Deed): void {
    // A secret may have become known since the intent was recorded: compare both without secrets.
    const [recorded, asked] = [used, given].map(({ action, subject }) =>
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

  #read(): KeyedActs {
    const acts = new KeyedActs(this.#log)
    // One failed read must not fail every later act: the next act reads again.
    acts.read.catch(() => (this.#known = undefined))
    return acts
  }
}

/** The keys of all acts so far, with how they ended. */
class KeyedActs {
  readonly #fates = new Map<string, Fate>()
  readonly #begun = new Map<string, Deed & { key: string }>()
  /** The lines that were added since the read began; undefined when it has ended. */
  #added: AuditRecord[] | undefined = []
  /** Resolves when the log was read. */
  readonly read: Promise<void>

  constructor(log: AuditLog) {
    this.read = this.#read(log)
  }

  async #read(log: AuditLog): Promise<void> {
    let last = 0
    for await (const record of log.records('audit')) {
      this.#apply(auditRecordOf(record))
      last = record.seq
    }
    // The read ends where the log ended when it began, or later.
    for (const record of this.#added ?? []) if (record.seq > last) this.#apply(record)
    this.#added = undefined
  }

  /** Takes a line that was just added to the log. */
  add(record: AuditRecord): void {
    if (this.#added === undefined) this.#apply(record)
    else this.#added.push(record)
  }

  fateOf(key: string): Fate | undefined {
    return this.#fates.get(key)
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
export function describeFailure(error: unknown): { code?: string; message: string } {
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
