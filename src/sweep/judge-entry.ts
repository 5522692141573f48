import { join } from 'node:path'
import { gatherFacts } from './candidate.ts'
import type { SweptDirectory } from './places.ts'
import { hasChangesSince } from './recently-touched.ts'
import { type EntryFacts, type KeepReason, unprovenAgeMs, type SweepVerdict, decideFate } from './verdict.ts'

/** An entry of a place, with what is known of it and the verdict of a sweep. */
export interface Judged {
  place: SweptDirectory
  path: string
  candidate: EntryFacts
  verdict: SweepVerdict
}

/** Looks at an entry and judges it; undefined if it is gone already. Yields every now and then. */
export function* judgeEntry(
  place: SweptDirectory,
  name: string,
  now: number,
): Generator<void, Judged | undefined> {
  const candidate = gatherFacts(place, name)
  if (candidate === undefined) return undefined
  const path = join(place.directory, name)
  const first = decideFate(candidate, now)
  // Where age alone decides, it must be the age of everything in it.
  const unproven = first.remove && candidate.type === 'directory' ? keptWhileYoung[first.reason] : undefined
  const isYoung = unproven !== undefined && (yield* hasChangesSince(path, now - unprovenAgeMs))
  return { place, path, candidate, verdict: isYoung ? { remove: false, reason: unproven } : first }
}

const keptWhileYoung: Partial<Record<SweepVerdict['reason'], KeepReason>> = {
  'unknown-and-old': 'owner-unknown',
  'ownerless-and-old': 'ownerless',
}
