import { lstatSync } from 'node:fs'
import { basename, join } from 'node:path'
import { exists } from '../../base/fs/exists.ts'
import { ownDirectoryProblem } from '../../base/fs/private-file.ts'
import { liveness } from '../../base/process/liveness.ts'
import { isRequestId, isSessionId, requestIdIn } from '../../base/text/id.ts'
import { visibleText } from '../../base/text/escape.ts'
import { listTracked } from '../../scratch/tracked-record.ts'
import { type Owner, readOwner } from '../../scratch/owner.ts'
import type { ScratchRoot } from '../../scratch/root.ts'
import { type JudgedEntry, judgeEntry, markSuperseded } from '../judge-entry.ts'
import { directoriesIn, listSwept, type SweptDirectory, type SweptListing } from '../swept-directories.ts'
import type { TempEntry, TrackedLine } from './entry.ts'

/** Lists every entry of the root with the verdict of a sweep, and changes nothing. Yields between entries. */
export function* listEntries(root: ScratchRoot, now: number): Generator<void, TempEntry[]> {
  const listings = directoriesIn('all', { root, dryRun: true }).map((each) =>
    listWithoutFollowing(each, root),
  )
  const seen: JudgedEntry[] = []
  for (const { directory, names } of listings.filter(({ directory }) => directory.kind !== 'tracked')) {
    for (const name of names) {
      yield
      const judged = yield* judgeEntry(directory, name, now)
      if (judged !== undefined) seen.push(judged)
    }
  }
  const judged = markSuperseded(seen)
  const entries = judged.map((each) => describe(root, each, now))
  // A record of tracked paths shares the fate of its run's scratch; without one, it is judged itself.
  const scratches = new Map(judged.filter(isScratch).map((each) => [basename(each.path), each]))
  for (const { directory, names } of listings.filter(({ directory }) => directory.kind === 'tracked')) {
    for (const name of names) {
      yield
      const fate = scratches.get(name) ?? (yield* judgeEntry(directory, name, now))
      if (exists(join(root.tracked, name))) entries.push(describeTracked(root, name, fate, now))
    }
  }
  return entries
}

const isScratch = ({ facts }: JudgedEntry): boolean => facts.kind === 'scratch' || facts.kind === 'trash'

/** Lists a directory. If a link has replaced it, lists the link itself instead of its target. */
function listWithoutFollowing(directory: SweptDirectory, root: ScratchRoot): SweptListing {
  const stat = lstatSync(directory.path, { throwIfNoEntry: false })
  if (stat === undefined || ownDirectoryProblem(stat) === undefined) return listSwept(directory)
  return { directory: { kind: 'root', path: root.path, root }, names: [basename(directory.path)] }
}

function describe(root: ScratchRoot, { path, facts, verdict }: JudgedEntry, now: number): TempEntry {
  const { kind } = facts
  const requestId = kind === 'other' ? null : (requestIdIn(basename(path)) ?? null)
  const scratch = kind === 'output' && requestId !== null ? join(root.runs, requestId) : path
  const owner = kind === 'scratch' || kind === 'output' ? readOwner(scratch) : undefined
  return {
    path,
    kind,
    ...ageFields(path, owner, now),
    ...ownerFields(owner, requestId),
    ...(facts.owner && { liveness: facts.owner.liveness }),
    orphan: verdict.remove,
    reason: verdict.reason,
    tracks: [],
  }
}

function describeTracked(
  root: ScratchRoot,
  name: string,
  fate: JudgedEntry | undefined,
  now: number,
): TempEntry {
  const path = join(root.tracked, name)
  const isRun = isRequestId(name)
  const owner = fate !== undefined && isScratch(fate) ? readOwner(fate.path) : undefined
  return {
    path,
    kind: 'tracked',
    ...ageFields(path, owner, now),
    ...ownerFields(owner, isRun ? name : null),
    orphan: fate?.verdict.remove ?? false,
    reason: fate?.verdict.reason ?? (isRun ? 'ownerless' : 'not-stint'),
    tracks: readTrackedLines(root, name),
  }
}

/** The paths that a run tracks elsewhere; none if the record cannot be read. */
export const readTrackedLines = (root: ScratchRoot, requestId: string): TrackedLine[] =>
  listTracked(root, requestId).map(({ path, context, sweepable }) => ({
    path,
    context: context === undefined ? null : visibleText(context),
    sweepable,
  }))

function ageFields(
  path: string,
  owner: Owner | undefined,
  now: number,
): Pick<TempEntry, 'created_at' | 'age_ms'> {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  const born = stat?.birthtimeMs || stat?.ctimeMs || now
  const recorded = owner?.created_at ?? 0
  const createdAt = Math.round(recorded > 0 && recorded <= now ? recorded : born)
  return { created_at: createdAt, age_ms: Math.max(0, now - createdAt) }
}

type OwnerFields = Pick<
  TempEntry,
  'request_id' | 'session_id' | 'parent_request_id' | 'command' | 'pid' | 'liveness'
>

/** The fields of an owner record. The program in the scratch can forge it, so invalid ids become null. */
export function ownerFields(owner: Owner | undefined, requestId: string | null): OwnerFields {
  const idIf = (isValid: (text: string) => boolean, text: string | null | undefined): string | null =>
    typeof text === 'string' && isValid(text) ? text : null
  return {
    request_id: requestId,
    session_id: idIf(isSessionId, owner?.session_id),
    parent_request_id: idIf(isRequestId, owner?.parent_request_id),
    command: owner?.command == null ? null : visibleText(owner.command, 80),
    pid: owner?.identity.pid ?? null,
    liveness: owner === undefined ? null : liveness(owner.identity),
  }
}
