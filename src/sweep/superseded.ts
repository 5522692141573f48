import { basename } from 'node:path'
import { keptScratches } from '../scratch/keep.ts'
import type { Judged } from './judge-entry.ts'

/** Judges the scratches that are kept on purpose, which only all of them together can tell: the newest stay, the others are superseded. */
export function supersede(all: readonly Judged[]): Judged[] {
  const createdAt = ({ candidate }: Judged): number => candidate.owner?.createdAt ?? 0
  const newestFirst = all
    .filter(({ verdict }) => verdict.reason === 'kept-on-purpose')
    .sort((a, b) => createdAt(b) - createdAt(a) || basename(b.path).localeCompare(basename(a.path)))
  const old = new Set(newestFirst.slice(keptScratches))
  return all.map((each) =>
    old.has(each) ? { ...each, verdict: { remove: true, reason: 'superseded' } } : each,
  )
}
