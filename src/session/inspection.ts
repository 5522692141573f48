import { auditRecordOf, type UnsettledAct } from './audit-record.ts'
import { newestFirst, replay, verifyByReading } from './driver-defaults.ts'
import type { ReadableSession, RecordRange, StoreDriver, StoredRecord } from './driver.ts'
import { checkedRange, eventOf, isVisible, readLatest, recordsBackwards } from './events.ts'
import type { LogName } from './log/log-end.ts'
import type { Inspection, Pending, SessionEvent } from './store.ts'

/** An entry of the spool, in the form of an event. */
type PendingRecord = Pending<SessionEvent> & { spool: string }

/** Reads a session: its logs, and after them what is still in its spool. */
export function inspectionOf(driver: StoreDriver, session: ReadableSession): Inspection {
  const { manifest } = session
  const state = async () => (await session.state?.()) ?? (await replay(session)).state
  const pendingIn = (log: LogName) => async (): Promise<PendingRecord[]> => {
    const entries = await driver.spooled(manifest.session_id)
    return entries
      .filter((entry) => entry.log === log)
      .map(({ type, json, at, masked, spool }) => ({
        pending: true,
        at,
        type,
        data: JSON.parse(json) as unknown,
        ...(masked && { masked }),
        spool,
      }))
  }
  return {
    // A driver may have to read for it, and most callers need other things.
    get summary() {
      return session.summary
    },
    manifest,
    health: (onBytes) => session.verify?.(onBytes) ?? verifyByReading(session, onBytes),
    events({ type, all = false, newestFirst: isReversed = false, ...range } = {}) {
      const show = (record: StoredRecord | PendingRecord) =>
        isVisible(record, type, all) ? (isPending(record) ? record : eventOf(record)) : undefined
      if (isReversed) return pendingThenBackwards(session, pendingIn('journal'), show, range)
      return readThenPending(session, 'journal', pendingIn('journal'), show, range)
    },
    async tail(count, options = {}) {
      const { read, pending } = await readWithPending(pendingIn('journal'), () =>
        readLatest(newestFirst(session), count, options),
      )
      const { type, all = false } = options
      const visible = pending.filter((record) => isVisible(record, type, all))
      return count <= 0 ? [] : [...read, ...visible].slice(-count)
    },
    audit: (range) =>
      readThenPending(
        session,
        'audit',
        pendingIn('audit'),
        (record) => (isPending(record) ? pendingAuditOf(record) : auditRecordOf(record)),
        range,
      ),
    async unsettled() {
      const { read, pending } = await readWithPending(pendingIn('audit'), state)
      const acts = new Map<string, UnsettledAct | Pending<UnsettledAct>>(read.unsettled)
      for (const { type, act, at, action, subject, key } of pending.map(pendingAuditOf)) {
        if (act !== undefined && type === 'outcome') acts.delete(act)
        if (act !== undefined && type === 'intent')
          acts.set(act, { act, at, action, subject, key, pending: true })
      }
      return [...acts.values()]
    },
    spooled: async () => (await driver.spooled(manifest.session_id)).length,
    async slots() {
      const { slots } = await state()
      return Object.fromEntries([...slots].map(([ext, { version, value }]) => [ext, { version, value }]))
    },
  }
}

const isPending = (record: StoredRecord | PendingRecord): record is PendingRecord => record.seq === undefined

const pendingAuditOf = (record: PendingRecord) =>
  ({ ...auditRecordOf({ ...record, seq: 0 }), seq: undefined, hash: undefined, pending: true }) as const

/**
 * Reads a log and then what is pending for it, and yields what `show` makes of each record. The holder may
 * take entries in at any moment: one that leaves the spool is in the log by then, so the log is read on until
 * no entry has left.
 */
async function* readThenPending<Shown>(
  session: ReadableSession,
  log: LogName,
  readPending: () => Promise<PendingRecord[]>,
  show: (record: StoredRecord | PendingRecord) => Shown | undefined,
  range: RecordRange = {},
): AsyncGenerator<Shown> {
  const { from = 1, to } = checkedRange(range)
  let pending = to === undefined ? await readPending() : []
  // Begin one record earlier: if that does not exist, the numbers of pending records may be before `from`.
  let next = Math.max(1, from - 1)
  for (;;) {
    for await (const record of session.records(log, { from: next, to })) {
      next = record.seq + 1
      const shown = record.seq < from ? undefined : show(record)
      if (shown !== undefined) yield shown
    }
    if (pending.length === 0 || next < from) return
    const still = await stillPending(pending, readPending)
    if (still.length === pending.length) break
    pending = still
  }
  for (const record of pending) {
    const shown = show(record)
    if (shown !== undefined) yield shown
  }
}

/**
 * Yields what is pending for the journal and then its records, newest first. An entry that the holder takes
 * in meanwhile was yielded as pending, and is not yielded again.
 */
async function* pendingThenBackwards<Shown>(
  session: ReadableSession,
  readPending: () => Promise<PendingRecord[]>,
  show: (record: StoredRecord | PendingRecord) => Shown | undefined,
  range: RecordRange,
): AsyncGenerator<Shown> {
  const checked = checkedRange(range)
  const pending = checked.to === undefined ? await readPending() : []
  const [last] = pending.length === 0 ? [] : await readLatest(newestFirst(session), 1, { all: true })
  if ((checked.from ?? 1) > (last?.seq ?? 0) + 1) pending.length = 0
  const seen = new Set(pending.map(({ spool }) => spool))
  const visible = (record: StoredRecord | PendingRecord): Shown[] => {
    const shown = show(record)
    return shown === undefined ? [] : [shown]
  }
  for (const record of pending.toReversed()) yield* visible(record)
  for await (const record of recordsBackwards(session, checked))
    if (record.spool === undefined || !seen.has(record.spool)) yield* visible(record)
}

/** Reads something together with the pending records that are not in it, and that it does not lack. */
async function readWithPending<Result>(
  readPending: () => Promise<PendingRecord[]>,
  read: () => Promise<Result>,
): Promise<{ read: Result; pending: PendingRecord[] }> {
  for (;;) {
    const pending = await readPending()
    const result = await read()
    // If the holder has taken one in meanwhile, the result may have it, or not.
    if ((await stillPending(pending, readPending)).length === pending.length) return { read: result, pending }
  }
}

async function stillPending(
  pending: PendingRecord[],
  readPending: () => Promise<PendingRecord[]>,
): Promise<PendingRecord[]> {
  if (pending.length === 0) return pending
  const ids = new Set((await readPending()).map(({ spool }) => spool))
  return pending.filter(({ spool }) => ids.has(spool))
}
