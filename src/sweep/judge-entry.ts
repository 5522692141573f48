import { join } from 'node:path'
import { examine } from './candidate.ts'
import type { Place } from './places.ts'
import { touchedSince } from './recently-touched.ts'
import { type Candidate, type KeepReason, unprovenAgeMs, type Verdict, verdict } from './verdict.ts'

/** An entry of a place, with what is known of it and the verdict of a sweep. */
export interface Judged {
  place: Place
  path: string
  candidate: Candidate
  verdict: Verdict
}

/** Looks at an entry and judges it; undefined if it is gone already. Yields every now and then. */
export function* judgeEntry(place: Place, name: string, now: number): Generator<void, Judged | undefined> {
  const candidate = examine(place, name)
  if (candidate === undefined) return undefined
  const path = join(place.directory, name)
  const first = verdict(candidate, now)
  // Where age alone decides, it must be the age of everything in it.
  const unproven = first.remove && candidate.type === 'directory' ? keptWhileYoung[first.reason] : undefined
  const isYoung = unproven !== undefined && (yield* touchedSince(path, now - unprovenAgeMs))
  return { place, path, candidate, verdict: isYoung ? { remove: false, reason: unproven } : first }
}

const keptWhileYoung: Partial<Record<Verdict['reason'], KeepReason>> = {
  'unknown-and-old': 'owner-unknown',
  'ownerless-and-old': 'ownerless',
}
