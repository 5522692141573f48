import { StintError } from '../../base/errors/stint-error.ts'
import { shellWord, visibleText } from '../../base/text/escape.ts'
import { findWorkspace } from '../../lease/index.ts'
import {
  type AuditRecord,
  checkSessionId,
  type DriverStore,
  followAudit,
  type Inspection,
  type Pending,
  type SessionEvent,
  sessionStates,
} from '../../session/index.ts'
import type { EventPage, EventRow, SessionPage, SessionView, Verification } from '../../ui/protocol.ts'
import { describeSession } from '../sessions/describe.ts'
import { describeInspected } from '../sessions/show.ts'
import { verifyOne } from '../sessions/verify.ts'
import { mergeStreams } from './merge-streams.ts'
import type { RequestQuery } from './request-query.ts'

/** Lists sessions, newest activity first, a page at a time. */
export async function listSessionPage(store: DriverStore, query: RequestQuery): Promise<SessionPage> {
  const state = query.choice('state', sessionStates)
  const workspace = query.text('workspace')
  const text = query.text('text')?.toLowerCase()
  const from = query.count('from') ?? 0
  const limit = query.limit(100, 1000)
  const found = await store.list({
    tool: query.text('tool'),
    workspace: workspace === undefined ? undefined : findWorkspace(workspace).path,
  })
  const matching = found.filter(
    ({ id, key = '', title = '', tool = '', workspace: of = '', ...each }) =>
      (state === undefined || each.state === state) &&
      (text === undefined || [id, key, title, tool, of].some((field) => field.toLowerCase().includes(text))),
  )
  return {
    sessions: matching.slice(from, from + limit).map(describeSession),
    from,
    total: matching.length,
  }
}

/** Opens a session by its exact id. */
export async function openSession(store: DriverStore, id: string): Promise<Inspection> {
  checkSessionId(id)
  return await store.inspect(id)
}

/** Characters of a slot's value that the page shows. */
const maxSlotLength = 2000

export async function viewSession(store: DriverStore, id: string): Promise<SessionView> {
  const inspection = await openSession(store, id)
  const { summary } = inspection
  const values = await inspection.slots()
  const described = await describeInspected(store, inspection)
  const name = shellWord(id)
  return {
    ...described,
    store: store.id,
    epoch: summary.holder?.epoch ?? null,
    slots: described.slots.map((slot) => ({
      ...slot,
      value: visibleText(JSON.stringify(values[slot.ext]?.value) ?? '', maxSlotLength),
    })),
    commands: {
      resume: `stint run --session ${name} --record -- COMMAND`,
      fork: `stint sessions fork ${name}`,
    },
  }
}

/** Records that are read at once when a page looks for a type backwards. */
const stepRecords = 1000
/** Characters of the data of an event in a page; `full` sends all. */
const maxDataLength = 8000

/** A page of the journal, in memory that does not grow with it. */
export async function readEventPage(store: DriverStore, id: string, query: RequestQuery): Promise<EventPage> {
  const inspection = await openSession(store, id)
  const limit = query.limit(200, 1000)
  const [from, before, type] = [query.count('from'), query.count('before'), query.text('type')]
  if (from !== undefined && before !== undefined)
    throw new StintError('ARG_ERROR', 'from and before exclude each other')
  const last = inspection.summary.records
  const asRow = query.flag('full') ? (event: EventOf) => event : eventRow
  const events =
    from === undefined
      ? await readBefore(inspection, before, last, { type, limit })
      : await readFrom(inspection, from, { type, limit })
  return { events: events.map(asRow), first: last === 0 ? 0 : 1, last }
}

type EventOf = SessionEvent | Pending<SessionEvent>

interface PageOptions {
  type: string | undefined
  limit: number
}

async function readFrom(
  inspection: Inspection,
  from: number,
  { type, limit }: PageOptions,
): Promise<EventOf[]> {
  const events: EventOf[] = []
  // Without a type the page is a range, and nothing beyond it is read.
  const to = type === undefined ? from + limit - 1 : undefined
  const isAtEnd = to === undefined || to >= inspection.summary.records
  for await (const event of inspection.events({ from, to: isAtEnd ? undefined : to, type, all: true })) {
    events.push(event)
    if (events.length >= limit) break
  }
  return events
}

async function readBefore(
  inspection: Inspection,
  before: number | undefined,
  last: number,
  { type, limit }: PageOptions,
): Promise<EventOf[]> {
  const step = type === undefined ? limit : stepRecords
  let events: EventOf[] = []
  // The newest page also has what visitors left.
  let to = before === undefined ? undefined : before - 1
  for (let end = Math.min(to ?? last, last); end > 0 || to === undefined;) {
    const from = Math.max(1, end - step + 1)
    const found: EventOf[] = []
    for await (const event of inspection.events({ from, to, type, all: true })) found.push(event)
    events = [...found, ...events].slice(-limit)
    if (events.length >= limit || from === 1) break
    to = end = from - 1
  }
  return events
}

/** An event without most of a large payload. */
export function eventRow(event: EventOf): EventRow {
  const json = JSON.stringify(event.data) ?? ''
  return json.length <= maxDataLength
    ? event
    : { ...event, data: json.slice(0, maxDataLength), cut: json.length }
}

/** The events from a record on, and those that come later; if asked for, audit lines, too. */
export async function followSession(
  store: DriverStore,
  id: string,
  query: RequestQuery,
  signal: AbortSignal,
): Promise<AsyncIterable<EventRow | { audit: AuditRecord }>> {
  const inspection = await openSession(store, id)
  const from = query.count('from') ?? inspection.summary.records + 1
  const audit = query.count('audit')
  const events = mapped(store.follow(id, { from, all: true, signal }), eventRow)
  if (audit === undefined) return events
  const lines = followAudit(store.driver, inspection, { from: Math.max(1, audit), signal })
  return mergeStreams<EventRow | { audit: AuditRecord }>([events, mapped(lines, (line) => ({ audit: line }))])
}

async function* mapped<From, To>(items: AsyncIterable<From>, to: (item: From) => To): AsyncGenerator<To> {
  for await (const item of items) yield to(item)
}

/** Reads both logs and tells what is missing or changed. */
export async function verifySession(store: DriverStore, id: string): Promise<Verification> {
  checkSessionId(id)
  const result = await verifyOne(store, id, () => {})
  if (result === undefined) throw new StintError('NOT_FOUND', `there is no session ${id}`)
  return result.verified
}
