import { visibleText } from '../../base/text/escape.ts'
import {
  type AuditRecord,
  checkSessionId,
  type BuiltInStore,
  type Inspection,
  sessionStates,
} from '../../session/index.ts'
import { describeSession, listNewest, type SessionDescription } from '../../session/commands/list.ts'
import { describeInspected } from '../../session/commands/show.ts'
import type { RequestFields } from './endpoints.ts'
import type { ActRow, EventPage, EventRow, SessionView } from './protocol.ts'

/** The first of the recorded sessions, newest activity first, and how many there are. */
export async function listRecorded(
  store: BuiltInStore,
  query: RequestFields,
  limit: number,
): Promise<{ sessions: SessionDescription[]; total: number }> {
  const state = query.choice('state', sessionStates)
  const text = query.text('text')?.toLowerCase()
  if (state === undefined && text === undefined) {
    const { sessions, total } = await listNewest(store, limit)
    return { sessions: sessions.map(describeSession), total }
  }
  const matching = (await store.list()).filter(
    ({ id, key = '', title = '', tool = '', workspace = '', ...each }) =>
      (state === undefined || each.state === state) &&
      (text === undefined ||
        [id, key, title, tool, workspace].some((field) => field.toLowerCase().includes(text))),
  )
  return { sessions: matching.slice(0, limit).map(describeSession), total: matching.length }
}

/** Opens a session by its exact id. */
export async function openSession(store: BuiltInStore, id: string): Promise<Inspection> {
  checkSessionId(id)
  return await store.inspect(id)
}

/** Characters of a slot's value that the page shows. */
const maxSlotLength = 2000

export async function viewSession(store: BuiltInStore, query: RequestFields): Promise<SessionView> {
  const inspection = await openSession(store, query.need('id'))
  const { summary } = inspection
  const values = await inspection.slots()
  const described = await describeInspected(store, inspection)
  return {
    ...described,
    epoch: summary.holder?.epoch ?? null,
    slots: described.slots.map((slot) => ({
      ...slot,
      value: visibleText(JSON.stringify(values[slot.ext]?.value) ?? '', maxSlotLength),
    })),
  }
}

/** Characters of the data of an event or an act in a page. */
const maxDataLength = 4000
/** Acts that are sent with a page of events. */
const maxActs = 500

/**
 * A page of the journal, and the acts of its time. It keeps the begin of each payload only, so its memory
 * does not grow with the session or with its events.
 */
export async function readEventPage(store: BuiltInStore, query: RequestFields): Promise<EventPage> {
  const inspection = await openSession(store, query.need('id'))
  const limit = query.limit(200, 1000)
  const before = query.count('before')
  const last = inspection.summary.records
  const end = Math.min(last, (before ?? Number.POSITIVE_INFINITY) - 1)
  const from = Math.max(1, end - limit + 1)
  const events: EventRow[] = []
  let nextAt = Number.POSITIVE_INFINITY
  // An older page reads one event more, at which its acts end.
  for await (const event of inspection.events({
    from,
    to: end < last ? end + 1 : last || undefined,
    all: true,
  }))
    if (event.seq > end && before !== undefined) nextAt = event.at
    else {
      const json = JSON.stringify(event.data) ?? ''
      const isWhole = json.length <= maxDataLength
      events.push(isWhole ? event : { ...event, data: beginOf(json), cut: json.length })
    }
  const beginsAt = from === 1 ? 0 : (events[0]?.at ?? Number.POSITIVE_INFINITY)
  const { acts, leftOut } = await readActs(inspection, beginsAt, nextAt)
  return { events, acts, acts_left_out: leftOut, last }
}

/** A copy of the begin of a string: `slice` alone would keep all of the string in memory. */
const beginOf = (text: string): string =>
  Buffer.from(text.slice(0, maxDataLength), 'utf16le').toString('utf16le')

/** The acts with their outcomes, and the notes, that began from a time on and before another. */
async function readActs(
  inspection: Inspection,
  from: number,
  before: number,
): Promise<{ acts: ActRow[]; leftOut: number }> {
  const acts: ActRow[] = []
  /** Acts without an outcome so far. */
  const open = new Map<string, ActRow>()
  for await (const line of inspection.audit()) {
    const begun = line.type === 'outcome' ? open.get(line.act ?? '') : undefined
    if (begun !== undefined) {
      begun.outcome = outcomeOf(line, begun.at)
      open.delete(line.act ?? '')
      continue
    }
    const row = actRow(line)
    if (row.act !== null && line.type === 'intent') open.set(row.act, row)
    if (row.at >= from && row.at < before) acts.push(row)
  }
  return { acts: acts.slice(-maxActs), leftOut: Math.max(0, acts.length - maxActs) }
}

/** The act that an audit line begins. An outcome whose intent is missing is an act that took no time. */
const actRow = (line: AuditRecord): ActRow => ({
  seq: line.seq,
  act: line.act ?? null,
  at: line.at,
  type: line.type === 'note' ? 'note' : 'act',
  action: line.action,
  subject: line.subject ?? null,
  key: line.key ?? null,
  outcome: line.type === 'outcome' ? outcomeOf(line, line.at) : null,
  detail: detailOf(line),
})

/** The detail of an act; the begin of its JSON if it is large. */
function detailOf({ detail = null }: AuditRecord): unknown {
  const json = JSON.stringify(detail)
  return json.length <= maxDataLength ? detail : `${beginOf(json)}…`
}

const outcomeOf = ({ at, ok, error }: AuditRecord, begunAt: number): NonNullable<ActRow['outcome']> => ({
  at,
  duration_ms: Math.max(0, at - begunAt),
  ok: ok === true,
  error: error?.message ?? null,
})
