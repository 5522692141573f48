import { basename } from 'node:path'
import { keptScratches } from '../scratch/owner.ts'
import type { Judged } from './judge-entry.ts'

/** Of the scratches that are kept on purpose the newest stay, and the others are superseded. Takes all entries: a single one cannot tell. */
export function markSuperseded(all: readonly Judged[]): Judged[] {
  const createdAt = ({ candidate }: Judged): number => candidate.owner?.createdAt ?? 0
  const newestFirst = all
    .filter(({ verdict }) => verdict.reason === 'kept-on-purpose')
    .sort((a, b) => createdAt(b) - createdAt(a) || basename(b.path).localeCompare(basename(a.path)))
  const old = new Set(newestFirst.slice(keptScratches))
  return all.map((each) =>
    old.has(each) ? { ...each, verdict: { remove: true, reason: 'superseded' } } : each,
  )
}
