import type { AuditRecord } from '../../session/audit-record.ts'
import { auditRecordOf } from '../../session/audit-record.ts'
import type { Clock } from '../../base/process/clock.ts'
import type { StintError } from '../../base/errors/stint-error.ts'
import type { AppendOptions, Entry, HeldSession, Receipt, WriteGuard } from '../../session/driver.ts'
import { type LogRecord, sessionClosed } from '../../session/log/index.ts'
import { factsOf, type Manifest, type Revision, revised } from '../../session/manifest.ts'
import { visitedRecords } from '../../session/snapshot-policy.ts'
import type { FoldedState } from '../../session/state.ts'
import type { RecoveryReport } from '../../session/store.ts'
import type { Database } from './database.ts'
import { sessionFenced } from '../../session/holder.ts'
import { release } from './session-hold.ts'
import { readAudit, readEvents, readEventsBackwards } from './read-records.ts'
import { reviseStatement } from './revise-statement.ts'
import type { SessionRow } from './session-row.ts'
import { draftSnapshot, writeSnapshot } from './snapshots.ts'
import { forgetTaken, readWaiting } from './spool.ts'
import { SessionWriter } from './writer.ts'

export interface HeldOptions {
  database: Database
  clock: Clock
  guard: WriteGuard
  row: SessionRow
  token: string
  manifest: Manifest
  state: FoldedState
  report: RecoveryReport
  /** What the journal had when the newest snapshot was taken, and how much came after it. */
  snapshotAt: { seq: number; bytes: number }
}

/** A session in PostgreSQL, held for writing. */
export class PostgresSession implements HeldSession {
  readonly state: FoldedState
  readonly report: RecoveryReport
  readonly #options: HeldOptions
  readonly #writer: SessionWriter
  #manifest: Manifest
  #snapshotAt: { seq: number; bytes: number }
  #bytes = 0
  #released = false

  constructor(options: HeldOptions) {
    this.#options = options
    this.state = options.state
    this.report = options.report
    this.#manifest = options.manifest
    this.#snapshotAt = options.snapshotAt
    this.#writer = new SessionWriter(options)
  }

  get manifest(): Manifest {
    return this.#manifest
  }

  get lastSeq(): number {
    return this.#writer.ends.journal.seq
  }

  get sinceSnapshot(): { records: number; bytes: number } {
    return { records: this.lastSeq - this.#snapshotAt.seq, bytes: this.#snapshotAt.bytes + this.#bytes }
  }

  get snapshotDue(): boolean {
    return this.sinceSnapshot.records >= visitedRecords
  }

  async append(entry: Entry, options?: AppendOptions): Promise<Receipt> {
    this.#bytes += entry.json.length
    const { seq, at } = await this.#writer.append('journal', entry, options)
    return { seq, at }
  }

  async audit(entry: Entry, applied?: (record: AuditRecord) => void): Promise<{ seq: number; hash: string }> {
    const { type, json } = entry
    const { seq, tail } = await this.#writer.append('audit', entry, {
      applied: ({ seq, at, tail: hash }) =>
        applied?.(auditRecordOf({ seq, at, type, data: JSON.parse(json) as unknown, hash })),
    })
    return { seq, hash: tail }
  }

  flush(): Promise<void> {
    return this.#writer.flush()
  }

  async revise(revision: Omit<Revision, 'rev' | 'at'>): Promise<void> {
    const { database, row, token, clock, guard } = this.#options
    await this.#writer.exclusively(async () => {
      const next = revised(this.#manifest, clock.now(), revision)
      const latest = next.revisions.at(-1) as Revision
      const body = JSON.stringify(latest)
      guard.check(Buffer.from(body))
      await database.insist(async () => {
        const [done] = await database.query(
          ...reviseStatement(row.key, token, latest.rev, body, factsOf(next)),
        )
        if (done?.revised !== true) throw this.#shut(sessionFenced(row.id))
      })
      this.#manifest = next
    })
  }

  async snapshot(state: FoldedState, payloadOf: (ext: string) => string): Promise<void> {
    const { database, row, token, clock, guard } = this.#options
    await this.#writer.flush()
    await this.#writer.exclusively(async () => {
      // All at once: what is acknowledged from here on is in neither, the state or the ends.
      const draft = draftSnapshot(this.#writer.ends, state, clock.now(), payloadOf)
      for (const { content } of draft.payloads) guard.check(Buffer.from(content))
      await database.insist(() => writeSnapshot(database, row, token, draft))
      this.#snapshotAt = { seq: draft.ends.journal.seq, bytes: 0 }
      this.#bytes = 0
    })
  }

  async takeSpool(applied: (record: AuditRecord) => void): Promise<void> {
    const { database, row, guard } = this.#options
    for (;;) {
      const waiting = await readWaiting(database, row.key)
      if (waiting.length === 0) return
      const taken = waiting.map((spooled) => {
        const entry = guard.redact(spooled)
        return entry.log === 'journal' ? this.append(entry) : this.audit(entry, applied)
      })
      await Promise.all(taken)
      await forgetTaken(database, row.key)
    }
  }

  ends(): ReturnType<HeldSession['ends']> {
    const { journal, audit } = this.#writer.ends
    return { seq: journal.seq, crc: journal.tail, audit: { count: audit.seq, head: audit.tail } }
  }

  events(range?: { from?: number; to?: number }): AsyncIterable<LogRecord> {
    const { database, row } = this.#options
    return readEvents(database, row.key, { to: this.lastSeq, ...range })
  }

  eventsBackwards(): AsyncIterable<LogRecord> {
    const { database, row } = this.#options
    return readEventsBackwards(database, row.key, this.lastSeq)
  }

  auditRecords(): AsyncIterable<AuditRecord> {
    const { database, row } = this.#options
    return readAudit(database, row.key, { to: this.#writer.ends.audit.seq })
  }

  async beat(): Promise<void> {
    const { database, row, token } = this.#options
    const [ours] = await database.query(
      'UPDATE stint.session SET beat = clock_timestamp() WHERE key = $1 AND token = $2 RETURNING key',
      row.key,
      token,
    )
    if (ours === undefined && !this.#released) this.#shut(sessionFenced(row.id))
  }

  async release(): Promise<void> {
    if (this.#released) return
    this.#released = true
    const { database, row, token } = this.#options
    await this.#writer.flush()
    this.#shut(sessionClosed())
    await release(database, row, token)
  }

  #shut(reason: StintError): StintError {
    this.#writer.shut(reason)
    return reason
  }
}
