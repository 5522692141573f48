import { createHash } from 'node:crypto'
import { auditRecordOf } from './audit-record.ts'
import { forkPoint, type LogName } from './log/log-end.ts'
import type { ReadableSession, Recovery, SessionRecords, StoreDriver, StoredRecord } from './driver.ts'
import { attestedBy, type Manifest } from './manifest.ts'
import { applyAuditRecord, applyJournalRecord, emptyState, nothingToReport } from './state.ts'
import type { Health, Holder, LogHealth } from './store.ts'
import { logDamaged } from './session-errors.ts'
import { noGuard } from './session-secrets.ts'

// The defaults of the optional members of a driver.

/** The ids of sessions that begin with `prefix`, with or without `ses_`, sorted. */
export async function idsOf(driver: StoreDriver, prefix = ''): Promise<string[]> {
  const ids = (await driver.ids?.(prefix)) ?? (await driver.list({})).map(({ id }) => id)
  return ids.filter((id) => id.startsWith(prefix) || id.startsWith(`ses_${prefix}`)).sort()
}

/** The holder of a session, dead or alive. */
export async function holderOf(driver: StoreDriver, id: string): Promise<Holder | undefined> {
  return driver.holder === undefined ? (await driver.read(id)).summary.holder : await driver.holder(id)
}

/** The records of the journal from its end. */
export async function* newestFirst(session: SessionRecords): AsyncIterable<StoredRecord> {
  if (session.newestFirst !== undefined) return yield* session.newestFirst()
  const all: StoredRecord[] = []
  for await (const record of session.records('journal')) all.push(record)
  yield* all.toReversed()
}

/** Folds both logs from their beginning. */
export async function replay(session: SessionRecords): Promise<Recovery> {
  const state = emptyState()
  const report = nothingToReport()
  for await (const record of session.records('journal')) {
    applyJournalRecord(state, record, () => record.data)
    report.replayed += 1
  }
  for await (const record of session.records('audit')) applyAuditRecord(state, auditRecordOf(record))
  const { session_id: id } = session.manifest
  const { seq } = attestedBy(session.manifest)
  if (report.replayed < seq) throw logDamaged(id, 'journal', endsEarly(report.replayed, seq), {})
  return { state, report, bytes: 0, snapshotDue: false }
}

/** Reads both logs and compares them with what the manifest attests. */
export async function verifyByReading(
  session: ReadableSession,
  onBytes: (done: number) => void = () => {},
): Promise<Health> {
  const { seq, audit: attested } = attestedBy(session.manifest)
  let done = 0
  const read = async (log: LogName, attestedSeq: number): Promise<LogHealth> => {
    const health: LogHealth = { state: 'whole', records: 0, bytes: 0, lastSeq: 0, head: '', findings: [] }
    for await (const record of session.records(log)) {
      if (log === 'audit' && record.hash !== auditHash(health.head, record)) {
        health.findings.push(
          `line ${record.seq} is not the one that was written after line ${health.lastSeq}`,
        )
        break
      }
      const { length } = JSON.stringify(record)
      health.records += 1
      health.bytes += length
      health.lastSeq = record.seq
      health.head = record.hash ?? ''
      if (log === 'audit' && record.seq === attested?.count && health.head !== attested.head)
        health.findings.push(`line ${record.seq} is not the one that was attested`)
      onBytes((done += length))
    }
    if (health.lastSeq < attestedSeq) health.findings.push(endsEarly(health.lastSeq, attestedSeq))
    return { ...health, state: health.findings.length === 0 ? 'whole' : 'damaged' }
  }
  const journal = await read('journal', seq)
  const audit = await read('audit', attested?.count ?? 0)
  return { journal, audit, blobs: [], ok: journal.state === 'whole' && audit.state === 'whole' }
}

const endsEarly = (last: number, attested: number): string =>
  `it ends at record ${last}, and record ${attested} is attested`

/** The hash of an audit record, which chains it to the one before; `previous` is empty for the first. */
export const auditHash = (
  previous: string,
  { seq, at, type, data }: Pick<StoredRecord, 'seq' | 'at' | 'type' | 'data'>,
): string =>
  createHash('sha256')
    .update(previous + JSON.stringify([seq, at, type, data]))
    .digest('hex')

/**
 * Forks a session by appending copies of its records to a new one. The new manifest attests how many there
 * must be, so that a fork whose process died on the way is not taken for a whole one.
 */
export async function forkByCopying(
  driver: StoreDriver,
  from: string,
  at: number | undefined,
  manifestAt: (seq: number) => Manifest,
): Promise<void> {
  const source = await driver.read(from)
  let last = 0
  for await (const record of source.records('journal')) last = record.seq
  const seq = forkPoint(at, last)
  const manifest = manifestAt(seq)
  for (const revision of manifest.revisions) if (revision.kind === 'fork') revision.seq = seq
  const copy = await driver.create(manifest, { kind: 'writer', purpose: 'fork' }, noGuard)
  try {
    const append = (log: LogName, { type, data, slot, masked, at }: StoredRecord): Promise<unknown> =>
      copy.append(log, { type, json: JSON.stringify(data) ?? 'null', slot, masked }, { at })
    let copiedAt = 0
    for await (const record of source.records('journal', { to: seq })) {
      await append('journal', record)
      copiedAt = record.at
    }
    for await (const record of source.records('audit')) {
      // Lines of the same millisecond belong to the fork: without its outcome, an act would be done twice.
      if (seq < last && record.at > copiedAt) break
      await append('audit', record)
    }
    await copy.release()
  } catch (error) {
    await copy.release().catch(() => {})
    await driver.remove(manifest.session_id, {}).catch(() => {})
    throw error
  }
}
