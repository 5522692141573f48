import type { DriverStore } from '../../session/index.ts'
import { actRowOf, actOutcomeOf } from '../../ui/act-row.ts'
import type { ActPage, ActRow } from '../../ui/protocol.ts'
import { NewestItems } from '../audit/audit-lines.ts'
import type { RequestQuery } from './request-query.ts'
import { openSession } from './session-views.ts'

/** Acts with their outcomes, and notes, of one session: the newest of those that match, oldest first. */
export async function readActPage(store: DriverStore, id: string, query: RequestQuery): Promise<ActPage> {
  const inspection = await openSession(store, id)
  const since = query.count('since') ?? 0
  const until = query.count('until') ?? Number.POSITIVE_INFINITY
  const before = query.count('before') ?? Number.POSITIVE_INFINITY
  const newest = new NewestItems<ActRow>(query.limit(200, 1000))
  /** Acts without an outcome so far. */
  const open = new Map<string, ActRow>()
  let [total, matching, last] = [0, 0, 0]
  for await (const line of inspection.audit()) {
    last = line.seq ?? last
    const begun = line.type === 'outcome' ? open.get(line.act ?? '') : undefined
    if (begun !== undefined) {
      begun.outcome = actOutcomeOf(line, begun.at)
      open.delete(line.act ?? '')
      continue
    }
    const row = actRowOf(line)
    total += 1
    if (row.act !== null && line.type === 'intent') open.set(row.act, row)
    if (row.at < since || row.at > until || (row.seq ?? 0) >= before) continue
    matching += 1
    newest.push(row)
  }
  const acts = newest.items
  return { acts, left_out: matching - acts.length, total, unsettled: open.size, last }
}
