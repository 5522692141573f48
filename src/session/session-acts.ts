import { AsyncLocalStorage } from 'node:async_hooks'
import { Acts, failureOf, refuseRepeat, waitsForItself } from './audit-acts.ts'
import type { AuditRecord, UnsettledAct } from './audit-record.ts'
import { ulid } from '../base/text/id.ts'
import { StintError } from '../base/errors/stint-error.ts'
import type { SecretGate } from '../secrets/index.ts'
import type { HeldSession } from './driver.ts'
import { auditEntry, type AuditFields } from './new-entry.ts'
import { takeAudit } from './state.ts'
import type { NewAudit } from './store.ts'

/** An act to be recorded before and after it is done. */
export interface Act extends Pick<NewAudit, 'action' | 'subject' | 'key' | 'detail'> {}

/** How an act ended. The action is that of its intent, unless it is given. */
export interface ActOutcome {
  action?: string
  ok: boolean
  result?: unknown
  error?: { code?: string; message: string }
}

type Deed<T> = () => Promise<T> | T

/** The acts within which the caller runs. One for all sessions: every promise of the process pays for each that there ever was. */
const underWay = new AsyncLocalStorage<readonly { acts: SessionActs; key: string }[]>()

/** The acts of a session, and its audit log, which has each of them before and after it is done. An act with a key is done once. */
export class SessionActs {
  readonly #held: HeldSession
  readonly #gate: SecretGate
  /** Read from the audit log when the first act with a key is done. */
  #known: Promise<Acts> | undefined
  readonly #running = new Map<string, Promise<unknown>>()

  constructor(held: HeldSession, gate: SecretGate) {
    this.#held = held
    this.#gate = gate
  }

  async act<T>(act: Act, deed: Deed<T>, again: boolean): Promise<T> {
    const { key } = act
    if (key === undefined) return await this.#perform(act, deed)
    const within = underWay.getStore() ?? []
    if (within.some(({ acts, key: other }) => acts === this && other === key)) throw waitsForItself(key)
    const running = this.#running.get(key) as Promise<T> | undefined
    if (running !== undefined) return await running
    const performing = underWay.run([...within, { acts: this, key }], () =>
      this.#performOnce(key, act, deed, again),
    )
    this.#running.set(key, performing)
    try {
      return await performing
    } finally {
      this.#running.delete(key)
    }
  }

  async settle(act: string, outcome: ActOutcome): Promise<void> {
    const action = outcome.action ?? this.#held.state.unsettled.get(act)?.action
    if (action === undefined)
      throw new StintError('ARG_ERROR', `there is no act ${JSON.stringify(act)} without an outcome`, {
        hint: '`session.unsettled()` lists all there are.',
      })
    await this.record({ ...outcome, action, phase: 'outcome', act })
  }

  unsettled(): UnsettledAct[] {
    return [...this.#held.state.unsettled.values()]
  }

  /** Adds a line to the audit log. */
  async record(entry: AuditFields): Promise<{ seq: number; hash: string }> {
    const listener = await this.listener()
    return await this.#held.audit(auditEntry(entry, this.#gate), listener)
  }

  /** Must hear of every line that is added to the audit log. */
  async listener(): Promise<(record: AuditRecord) => void> {
    const known = await this.#knownByNow()
    return (record) => {
      takeAudit(this.#held.state, record)
      known?.take(record)
    }
  }

  async #performOnce<T>(key: string, act: Act, deed: Deed<T>, again: boolean): Promise<T> {
    const fate = (await (this.#known ?? this.#read())).fateOf(this.#gate.text(key))
    refuseRepeat(key, fate, again)
    if (fate?.state === 'done' && !again) return fate.result as T
    return await this.#perform(act, deed)
  }

  async #perform<T>(act: Act, deed: Deed<T>): Promise<T> {
    const id = `act_${ulid()}`
    await this.record({ ...act, phase: 'intent', act: id })
    let result: T
    try {
      result = await deed()
    } catch (error) {
      await this.settle(id, { action: act.action, ok: false, error: failureOf(error) }).catch(() => {
        // The caller must hear what went wrong first. `unsettled` shows that the outcome is missing.
      })
      throw error
    }
    await this.settle(id, { action: act.action, ok: true, result })
    return result
  }

  #read(): Promise<Acts> {
    const reading = readActs(this.#held)
    this.#known = reading
    // One failed read must not fail every act after it: the next one reads again.
    reading.catch(() => (this.#known = undefined))
    return reading
  }

  /** Undefined if nobody has asked yet: then all is in the audit log by the time somebody does. */
  async #knownByNow(): Promise<Acts | undefined> {
    while (this.#known !== undefined) {
      try {
        return await this.#known
      } catch {
        // Forgotten by now, or already being read again.
      }
    }
    return undefined
  }
}

async function readActs(held: HeldSession): Promise<Acts> {
  const acts = new Acts()
  for await (const record of held.auditRecords()) acts.take(record)
  return acts
}
