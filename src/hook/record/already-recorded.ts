import { join } from 'node:path'
import { nodeDisk } from '../../base/fs/disk.ts'
import { sessionPathsIn } from '../../session/files/paths.ts'
import { readSpoolFile, listSpoolFiles } from '../../session/files/spool.ts'
import type { NewAudit, NewEvent, SessionStore } from '../../session/store.ts'
import type { Entries } from './entries.ts'

type Log = 'journal' | 'audit'

/** The entries with the mark by which they are known again. */
export const marked = ({ event, audit }: Entries, mark: string): Entries => ({
  event: { ...event, data: { ...(event.data as object), mark } } satisfies NewEvent,
  audit: { ...audit, detail: { ...(audit.detail as object | undefined), mark } } satisfies NewAudit,
})

/**
 * In which logs of a session a record is, or will be: whoever wrote it may have died right after. What was
 * left for the session's holder is looked at first, since it goes from there into the logs.
 */
export async function alreadyIn(
  store: SessionStore,
  home: string,
  session: string,
  mark: string,
): Promise<Set<Log>> {
  const paths = sessionPathsIn(join(home, 'sessions', session))
  const found = new Set<Log>()
  for (const name of listSpoolFiles(nodeDisk, paths))
    for (const { log, json } of readSpoolFile(nodeDisk, paths, name) ?? [])
      if (json.includes(mark)) found.add(log)
  const { events, audit } = await store.inspect(session)
  for await (const { data } of events()) if (markOf(data) === mark) found.add('journal')
  for await (const { detail } of audit()) if (markOf(detail) === mark) found.add('audit')
  return found
}

const markOf = (value: unknown): unknown => (value as { mark?: unknown } | null | undefined)?.mark
