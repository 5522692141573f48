import { StintError } from '../../base/errors/stint-error.ts'
import { visibleLines, visibleText } from '../../base/text/escape.ts'
import { findWorkspace } from '../../lease/index.ts'
import { type DriverStore, type SessionSummary } from '../../session/index.ts'
import type { AuditLineOf, SearchHit, StreamEnd } from '../../ui/protocol.ts'
import { type AuditLine, auditLineTypes, lineMatcher } from '../audit/audit-lines.ts'
import { csvHeader, formatLine, linesOfSessions } from '../audit/query-all.ts'
import { describeFound } from '../sessions/search.ts'
import type { RequestQuery } from './request-query.ts'

/** Selects audit lines of all sessions, or of one; they are read as they are asked for. */
function selectLines(store: DriverStore, query: RequestQuery, signal: AbortSignal) {
  const [session, since] = [query.text('session'), query.count('since')]
  const until = query.count('until') ?? Number.POSITIVE_INFINITY
  const filter = {
    since: since === undefined ? undefined : Math.max(0, Date.now() - since),
    action: query.text('action'),
    subject: query.text('subject'),
    type: query.choice('type', auditLineTypes),
    failed: query.flag('failed'),
  }
  const limit = query.limit(1000, 1_000_000)
  return async function* (end: StreamEnd) {
    const sessions = (await store.list()).filter(({ id }) => session === undefined || id === session)
    const options = {
      matcher: () => {
        const matches = lineMatcher(filter)
        return (line: AuditLine) => {
          signal.throwIfAborted()
          return line.at <= until && matches(line)
        }
      },
      onDamaged: (session_id: string, message: string) => end.unreadable.push({ session_id, message }),
    }
    for await (const found of linesOfSessions(store, sessions, options)) {
      yield found
      if (++end.found >= limit) return
    }
  }
}

const newEnd = (): StreamEnd => ({ end: true, found: 0, unreadable: [] })

/** Audit lines as they are found. */
export async function streamAudit(
  store: DriverStore,
  query: RequestQuery,
  signal: AbortSignal,
): Promise<AsyncIterable<AuditLineOf | StreamEnd>> {
  const lines = selectLines(store, query, signal)
  return (async function* () {
    const end = newEnd()
    for await (const { session_id, line } of lines(end)) yield { session_id, ...line }
    yield end
  })()
}

/** The same lines as a table of comma-separated values. */
export async function exportAudit(
  store: DriverStore,
  query: RequestQuery,
  signal: AbortSignal,
): Promise<AsyncIterable<string>> {
  const lines = selectLines(store, query, signal)
  return (async function* () {
    yield `${csvHeader}\n`
    for await (const { session_id, line } of lines(newEnd()))
      yield `${visibleLines(formatLine.csv(session_id, line, { utc: true }))}\n`
  })()
}

/** Characters before and after what was found in an audit line. */
const around = 80

/** Finds a text in sessions, events and audit lines, and tells each as it is found. */
export async function streamSearch(
  store: DriverStore,
  query: RequestQuery,
  signal: AbortSignal,
): Promise<AsyncIterable<SearchHit | StreamEnd>> {
  const text = query.need('q')
  const pattern = query.flag('regex') ? regularExpression(text) : text
  const [since, workspace, tool] = [query.count('since'), query.text('workspace'), query.text('tool')]
  const limit = query.limit(200, 10_000)
  const filter = { tool, workspace: workspace === undefined ? undefined : findWorkspace(workspace).path }
  const hits = async function* (end: StreamEnd): AsyncGenerator<SearchHit> {
    const sessions = await store.list(filter)
    yield* inSessions(sessions, pattern)
    const events = store.search(pattern, {
      ...filter,
      since: since === undefined ? undefined : Math.max(0, Date.now() - since),
      // A client that has gone ends the search.
      onBytes: () => signal.throwIfAborted(),
      onUnreadable: ({ id }, { message }) => end.unreadable.push({ session_id: id, message }),
    })
    for await (const event of events)
      yield { ...describeFound(event), title: event.session.title ?? null, log: 'journal' }
    yield* inAudit(store, sessions, { pattern, since: since ?? 0, signal })
  }
  return (async function* () {
    const end = newEnd()
    for await (const hit of hits(end)) {
      yield hit
      if (++end.found >= limit) break
    }
    yield end
  })()
}

function regularExpression(text: string): RegExp {
  try {
    return new RegExp(text)
  } catch (error) {
    throw new StintError('ARG_ERROR', `not a regular expression: ${visibleText(text, 200)}`, { cause: error })
  }
}

const findIn = (text: string, pattern: string | RegExp): number =>
  typeof pattern === 'string' ? text.toLowerCase().indexOf(pattern.toLowerCase()) : text.search(pattern)

function* inSessions(sessions: readonly SessionSummary[], pattern: string | RegExp): Generator<SearchHit> {
  for (const { id, title, tool, workspace, lastAt } of sessions)
    for (const [path, text] of Object.entries({ id, title, tool, workspace })) {
      if (text === undefined || findIn(text, pattern) < 0) continue
      const place = { log: 'session', seq: null, at: lastAt, type: 'session', path } as const
      yield { session_id: id, title: title ?? null, ...place, excerpt: visibleText(text, 2 * around) }
      break
    }
}

async function* inAudit(
  store: DriverStore,
  sessions: readonly SessionSummary[],
  { pattern, since, signal }: { pattern: string | RegExp; since: number; signal: AbortSignal },
): AsyncGenerator<SearchHit> {
  const titles = new Map(sessions.map(({ id, title }) => [id, title ?? null]))
  // The search of events has told which sessions cannot be read.
  const options = { matcher: () => () => true, onDamaged: () => {} }
  for await (const { session_id, line } of linesOfSessions(store, sessions, options)) {
    const { seq, at, type, action, subject, error, detail } = line
    signal.throwIfAborted()
    if (at < since) continue
    const texts = { subject, action, error: error?.message, detail: detail && JSON.stringify(detail) }
    for (const [path, text] of Object.entries(texts)) {
      const found = typeof text === 'string' ? findIn(text, pattern) : -1
      if (typeof text !== 'string' || found < 0) continue
      const excerpt = visibleText(text.slice(Math.max(0, found - around), found + around))
      const title = titles.get(session_id) ?? null
      yield {
        session_id,
        title,
        log: 'audit',
        seq: seq ?? null,
        at,
        type: `${type} ${action}`,
        path,
        excerpt,
      }
      break
    }
  }
}
