import { lstatSync } from 'node:fs'
import { basename, join } from 'node:path'
import { isRequestId, isSessionId } from '../primitives/id.ts'
import { liveness } from '../primitives/liveness.ts'
import { ownDirectoryProblem } from '../primitives/own-directory.ts'
import { visibleText } from '../primitives/visible-text.ts'
import { keptScratches } from '../scratch/keep.ts'
import { type Owner, readOwner } from '../scratch/owner.ts'
import type { ScratchRoot } from '../scratch/root.ts'
import { examine } from '../sweep/candidate.ts'
import { namesIn, type Place, placesOf } from '../sweep/places.ts'
import { type Candidate, verdict } from '../sweep/verdict.ts'
import type { Entry } from './entry.ts'
import { readTracked } from './tracked-record.ts'

/** Every entry of the root, judged as a sweep would judge it. Looks only; yields after each. */
export function* surveySteps(root: ScratchRoot, now: number): Generator<void, Entry[]> {
  const entries: Entry[] = []
  const rootPlace: Place = { kind: 'root', directory: root.path, root }
  const look = (place: Place, name: string): void => {
    const candidate = examine(place, name)
    if (candidate !== undefined) entries.push(describe(root, join(place.directory, name), candidate, now))
  }
  for (const place of placesOf('all', { root, dryRun: true })) {
    if (place.kind === 'tracked') continue
    // Where somebody has put a link in its place, it is the link that is shown, not what it leads to.
    if (!isOwn(place.directory)) look(rootPlace, basename(place.directory))
    else {
      for (const name of namesIn(place)) {
        yield
        look(place, name)
      }
    }
  }
  if (!isOwn(root.tracked)) look(rootPlace, basename(root.tracked))
  else {
    for (const name of namesIn({ kind: 'out', directory: root.tracked })) {
      yield
      const entry = describeTracked(root, name, now)
      if (entry !== undefined) entries.push(entry)
    }
  }
  return supersede(entries)
}

const isOwn = (directory: string): boolean => {
  const stat = lstatSync(directory, { throwIfNoEntry: false })
  return stat === undefined || ownDirectoryProblem(stat) === undefined
}

function describe(root: ScratchRoot, path: string, candidate: Candidate, now: number): Entry {
  const { remove: orphan, reason } = verdict(candidate, now)
  const known = candidate.kind !== 'other'
  const name = basename(path)
  const requestId = /req_[0-9A-Z]{26}/.exec(known ? name : '')?.[0] ?? null
  const owner =
    candidate.kind === 'scratch' || candidate.kind === 'trash'
      ? readOwner(path)
      : candidate.kind === 'output' && requestId !== null
        ? readOwner(join(root.path, requestId))
        : undefined
  return {
    path,
    kind: candidate.kind,
    ...ageOf(path, owner, now),
    ...whoIs(owner, requestId),
    ...(candidate.owner && { liveness: candidate.owner.liveness }),
    orphan,
    reason,
    tracks: [],
  }
}

/** A record of tracked paths shares the fate of its run's scratch. */
function describeTracked(root: ScratchRoot, name: string, now: number): Entry | undefined {
  const path = join(root.tracked, name)
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return undefined
  const tracks = readTracked(root, name)
  const isRun = isRequestId(name)
  const scratch = isRun ? examine({ kind: 'root', directory: root.path }, name) : undefined
  const trashed = isRun ? examine({ kind: 'trash', directory: root.trash }, name) : undefined
  const candidate = scratch ?? trashed ?? examine({ kind: 'tracked', directory: root.tracked, root }, name)
  const owner = isRun ? readOwner(join(scratch ? root.path : root.trash, name)) : undefined
  const judged = candidate && verdict(candidate, now)
  return {
    path,
    kind: 'tracked',
    ...ageOf(path, owner, now),
    ...whoIs(owner, isRun ? name : null),
    orphan: judged?.remove ?? false,
    reason: judged?.reason ?? (isRun ? 'ownerless' : 'not-stint'),
    tracks,
  }
}

function ageOf(path: string, owner: Owner | undefined, now: number): Pick<Entry, 'created_at' | 'age_ms'> {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  const born = stat?.birthtimeMs || stat?.ctimeMs || now
  const said = owner?.created_at ?? 0
  const createdAt = Math.round(said > 0 && said <= now ? said : born)
  return { created_at: createdAt, age_ms: Math.max(0, now - createdAt) }
}

type Who = Pick<Entry, 'request_id' | 'session_id' | 'parent_request_id' | 'command' | 'pid' | 'liveness'>

/** Who an owner record names. The program in the scratch may have written it: what cannot be an id is none. */
export function whoIs(owner: Owner | undefined, requestId: string | null): Who {
  const idIf = (isOne: (text: string) => boolean, text: string | null | undefined): string | null =>
    typeof text === 'string' && isOne(text) ? text : null
  return {
    request_id: requestId,
    session_id: idIf(isSessionId, owner?.session_id),
    parent_request_id: idIf(isRequestId, owner?.parent_request_id),
    command: owner?.command == null ? null : visibleText(owner.command, 80),
    pid: owner?.identity.pid ?? null,
    liveness: owner === undefined ? null : liveness(owner.identity),
  }
}

/** Of the scratches kept on purpose a sweep leaves only the newest. */
function supersede(entries: Entry[]): Entry[] {
  const kept = entries
    .filter(({ kind, reason }) => kind !== 'tracked' && reason === 'kept-on-purpose')
    .sort((a, b) => b.created_at - a.created_at || basename(b.path).localeCompare(basename(a.path)))
  const old = new Set(kept.slice(keptScratches).map(({ request_id }) => request_id))
  return entries.map((entry) =>
    entry.reason === 'kept-on-purpose' && old.has(entry.request_id)
      ? { ...entry, orphan: true, reason: 'superseded' }
      : entry,
  )
}
