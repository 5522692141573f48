import { lstatSync } from 'node:fs'
import { basename, join } from 'node:path'
import { isRequestId, isSessionId, requestIdIn } from '../../base/text/id.ts'
import { liveness } from '../../base/process/liveness.ts'
import { ownDirectoryProblem } from '../../base/fs/own-directory.ts'
import { exists } from '../../base/fs/exists.ts'
import { visibleText } from '../../base/text/escape.ts'
import { type Owner, readOwner } from '../../scratch/owner.ts'
import type { ScratchRoot } from '../../scratch/root.ts'
import { type Judged, judgeEntry } from '../judge-entry.ts'
import { type SweptListing, listSwept, type SweptDirectory, directoriesIn } from '../places.ts'
import { markSuperseded } from '../superseded.ts'
import type { TempEntry } from './entry.ts'
import { readTrackedLines } from './tracked-line.ts'

/** Every entry of the root, judged as a sweep would judge it. Looks only; yields every now and then. */
export function* listEntries(root: ScratchRoot, now: number): Generator<void, TempEntry[]> {
  const listings = directoriesIn('all', { root, dryRun: true }).map((place) => listed(place, root))
  const seen: Judged[] = []
  for (const { place, names } of listings.filter(({ place }) => place.kind !== 'tracked')) {
    for (const name of names) {
      yield
      const judged = yield* judgeEntry(place, name, now)
      if (judged !== undefined) seen.push(judged)
    }
  }
  const judged = markSuperseded(seen)
  const entries = judged.map((each) => describe(root, each, now))
  // A record of tracked paths shares the fate of its run's scratch. A record without a scratch is judged by itself.
  const scratches = new Map(judged.filter(isScratch).map((each) => [basename(each.path), each]))
  for (const { place, names } of listings.filter(({ place }) => place.kind === 'tracked')) {
    for (const name of names) {
      yield
      const fate = scratches.get(name) ?? (yield* judgeEntry(place, name, now))
      if (exists(join(root.tracked, name))) entries.push(describeTracked(root, name, fate, now))
    }
  }
  return entries
}

const isScratch = ({ candidate }: Judged): boolean =>
  candidate.kind === 'scratch' || candidate.kind === 'trash'

/** Lists a place. If somebody has put a link in its place, the link itself is listed, not what it leads to. */
function listed(place: SweptDirectory, root: ScratchRoot): Pick<SweptListing, 'place' | 'names'> {
  const stat = lstatSync(place.directory, { throwIfNoEntry: false })
  if (stat === undefined || ownDirectoryProblem(stat) === undefined) return listSwept(place, { dryRun: true })
  return { place: { kind: 'root', directory: root.path, root }, names: [basename(place.directory)] }
}

function describe(root: ScratchRoot, { path, candidate, verdict }: Judged, now: number): TempEntry {
  const { kind } = candidate
  const requestId = kind === 'other' ? null : (requestIdIn(basename(path)) ?? null)
  const scratch = kind === 'output' && requestId !== null ? join(root.path, requestId) : path
  const owner = ['scratch', 'trash', 'output'].includes(kind) ? readOwner(scratch) : undefined
  return {
    path,
    kind,
    ...ageOf(path, owner, now),
    ...ownerFields(owner, requestId),
    ...(candidate.owner && { liveness: candidate.owner.liveness }),
    orphan: verdict.remove,
    reason: verdict.reason,
    tracks: [],
  }
}

function describeTracked(root: ScratchRoot, name: string, fate: Judged | undefined, now: number): TempEntry {
  const path = join(root.tracked, name)
  const isRun = isRequestId(name)
  const owner = fate !== undefined && isScratch(fate) ? readOwner(fate.path) : undefined
  return {
    path,
    kind: 'tracked',
    ...ageOf(path, owner, now),
    ...ownerFields(owner, isRun ? name : null),
    orphan: fate?.verdict.remove ?? false,
    reason: fate?.verdict.reason ?? (isRun ? 'ownerless' : 'not-stint'),
    tracks: readTrackedLines(root, name),
  }
}

function ageOf(
  path: string,
  owner: Owner | undefined,
  now: number,
): Pick<TempEntry, 'created_at' | 'age_ms'> {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  const born = stat?.birthtimeMs || stat?.ctimeMs || now
  const said = owner?.created_at ?? 0
  const createdAt = Math.round(said > 0 && said <= now ? said : born)
  return { created_at: createdAt, age_ms: Math.max(0, now - createdAt) }
}

type Who = Pick<TempEntry, 'request_id' | 'session_id' | 'parent_request_id' | 'command' | 'pid' | 'liveness'>

/** Who an owner record names. The program in the scratch may have written it: what cannot be an id is none. */
export function ownerFields(owner: Owner | undefined, requestId: string | null): Who {
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
