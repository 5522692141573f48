import type { DriverStore, NewAudit, NewEvent } from '../../session/index.ts'
import type { Entries } from './entries.ts'

type Log = 'journal' | 'audit'

/** Adds a mark to both entries, by which they are recognized later. */
export const marked = ({ event, audit }: Entries, mark: string): Entries => ({
  event: { ...event, data: { ...(event.data as object), mark } } satisfies NewEvent,
  audit: { ...audit, detail: { ...(audit.detail as object | undefined), mark } } satisfies NewAudit,
})

/**
 * The logs of a session that have, or will have, the record with this mark: an earlier recorder may have died right
 * after writing it. The spool is read first, because its entries move from there into the logs.
 */
export async function alreadyIn(
  { driver, inspect }: DriverStore,
  session: string,
  mark: string,
): Promise<Set<Log>> {
  const found = new Set<Log>()
  for (const { log, json } of await driver.spooled(session)) if (json.includes(mark)) found.add(log)
  const { events, audit } = await inspect(session)
  for await (const { data } of events()) if (markOf(data) === mark) found.add('journal')
  for await (const { detail } of audit()) if (markOf(detail) === mark) found.add('audit')
  return found
}

const markOf = (value: unknown): unknown => (value as { mark?: unknown } | null | undefined)?.mark
