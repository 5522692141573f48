import { lstatSync, readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { keptScratches } from '../scratch/owner.ts'
import { gatherFacts } from './gather-facts.ts'
import type { SweptDirectory } from './swept-directories.ts'
import { decideFate, type EntryFacts, type KeepReason, type SweepVerdict, unprovenAgeMs } from './verdict.ts'

/** An entry of a swept directory, the facts about it, and the verdict of a sweep. */
export interface JudgedEntry {
  directory: SweptDirectory
  path: string
  facts: EntryFacts
  verdict: SweepVerdict
}

/** Inspects an entry and judges it; undefined if it has disappeared. Yields so that the caller can pause. */
export function* judgeEntry(
  directory: SweptDirectory,
  name: string,
  now: number,
): Generator<void, JudgedEntry | undefined> {
  const facts = gatherFacts(directory, name)
  if (facts === undefined) return undefined
  const path = join(directory.path, name)
  const verdict = decideFate(facts, now)
  // Where age alone decides, everything in the tree must be old, not only the entry itself.
  const ifYoung = verdict.remove && facts.type === 'directory' ? keptWhileYoung[verdict.reason] : undefined
  const isYoung = ifYoung !== undefined && (yield* hasChangesSince(path, now - unprovenAgeMs))
  return { directory, path, facts, verdict: isYoung ? { remove: false, reason: ifYoung } : verdict }
}

const keptWhileYoung: Partial<Record<SweepVerdict['reason'], KeepReason>> = {
  'unknown-and-old': 'owner-unknown',
  'ownerless-and-old': 'ownerless',
}

/** A tree with more entries than this counts as old if that many are. */
const maxEntriesToCheck = 100_000

/** Whether anything in a tree changed since a time. An unreadable directory counts as changed. */
function* hasChangesSince(top: string, since: number): Generator<void, boolean> {
  const directories = [top]
  let checked = 0
  for (let path = directories.pop(); path !== undefined; path = directories.pop()) {
    yield
    try {
      for (const name of readdirSync(path)) {
        const entry = join(path, name)
        const stat = lstatSync(entry, { throwIfNoEntry: false })
        if (stat === undefined) continue
        if (Math.max(stat.mtimeMs, stat.ctimeMs) >= since) return true
        if (stat.isDirectory()) directories.push(entry)
        checked += 1
        if (checked > maxEntriesToCheck) return false
      }
    } catch {
      return true
    }
  }
  return false
}

/**
 * Marks all but the newest scratches that are kept on purpose as superseded. Needs all entries at once:
 * whether a scratch is among the newest depends on the others.
 */
export function markSuperseded(all: readonly JudgedEntry[]): JudgedEntry[] {
  const createdAt = ({ facts }: JudgedEntry): number => facts.owner?.createdAt ?? 0
  const newestFirst = all
    .filter(({ verdict }) => verdict.reason === 'kept-on-purpose')
    .sort((a, b) => createdAt(b) - createdAt(a) || basename(b.path).localeCompare(basename(a.path)))
  const old = new Set(newestFirst.slice(keptScratches))
  return all.map((each) =>
    old.has(each) ? { ...each, verdict: { remove: true, reason: 'superseded' } } : each,
  )
}
