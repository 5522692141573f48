import { errorMessage, StintError } from '../../../base/errors/stint-error.ts'
import { visibleJson } from '../../../base/text/escape.ts'
import { wrapLines } from '../../../base/text/wrap.ts'
import { attestedBy, type AuditRecord, type BuiltInStore, type SessionSummary } from '../../index.ts'
import type { Zone } from '../../../cli/text/format.ts'
import { printLines } from '../../../cli/terminal/print.ts'
import { NewestItems, renderLine } from './audit-lines.ts'

interface AllLines {
  json: boolean
  /** The newest so many of each session; all if undefined. */
  limit?: number
  /** Makes the filter of one session. */
  matcher: () => (line: AuditRecord) => boolean
  zone: Zone
  /** How wide the screen is. */
  columns: number
}

/**
 * Prints the matching audit lines of all sessions, newest activity first, as they are read. Throws at the end
 * if lines of a session are missing or cannot be read.
 */
export async function printAllLines(
  store: BuiltInStore,
  { json, limit, matcher, zone, columns }: AllLines,
  warn: (message: string) => void,
): Promise<void> {
  const damaged: string[] = []
  const onDamaged = (id: string, message: string): void => {
    damaged.push(id)
    warn(`${id}: ${message}`)
  }
  const formatLine = (id: string, line: AuditRecord): string =>
    json ? visibleJson({ session_id: id, ...line }) : wrapLines(`${id}  ${renderLine(line, zone)}`, columns)
  const lines = async function* (): AsyncGenerator<string> {
    for await (const { session_id, line } of linesOfSessions(store, await store.list(), {
      limit,
      matcher,
      onDamaged,
    }))
      yield formatLine(session_id, line)
  }
  if (!(await printLines(lines())) || damaged.length === 0) return
  throw new StintError(
    'AUDIT_CORRUPT',
    `audit lines are missing or changed: ${damaged.slice(0, 10).join(', ')}`,
    {
      hint: '`stint audit verify ID` shows where.',
    },
  )
}

interface LinesOptions extends Pick<AllLines, 'limit' | 'matcher'> {
  /** Called for a session whose lines are missing or cannot be read. */
  onDamaged(id: string, message: string): void
}

/** Reads the matching audit lines of sessions, as they are asked for; within a session the oldest first. */
async function* linesOfSessions(
  store: BuiltInStore,
  sessions: readonly SessionSummary[],
  { limit, matcher, onDamaged }: LinesOptions,
): AsyncGenerator<{ session_id: string; line: AuditRecord }> {
  for (const session of sessions) {
    const session_id = session.id
    const matches = matcher()
    const newest = limit === undefined ? undefined : new NewestItems<AuditRecord>(limit)
    try {
      for await (const line of readLines(store, session)) {
        if (!matches(line)) continue
        if (newest === undefined) yield { session_id, line }
        else newest.push(line)
      }
    } catch (error) {
      if (!(error instanceof StintError)) throw error
      // A session that was removed meanwhile has no lines.
      if (error.code !== 'NOT_FOUND') onDamaged(session_id, errorMessage(error))
    }
    for (const line of newest?.items ?? []) yield { session_id, line }
  }
}

/** Reads the audit log of a session. Throws after its last intact line if there were more. */
async function* readLines(store: BuiltInStore, { id }: SessionSummary): AsyncGenerator<AuditRecord> {
  const inspection = await store.inspect(id)
  let last = 0
  for await (const line of inspection.audit()) {
    last = line.seq ?? last
    yield line
  }
  const attested = attestedBy(inspection.manifest).audit?.count ?? 0
  if (last < attested)
    throw new StintError('AUDIT_CORRUPT', `line ${last + 1} is missing or changed, of ${attested} or more`)
}
