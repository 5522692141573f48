import { lstatSync, readdirSync, type Stats } from 'node:fs'
import { basename, join } from 'node:path'
import { isStaged } from '../base/fs/atomic-file.ts'
import { exists } from '../base/fs/exists.ts'
import { giveWay } from '../base/process/event-loop.ts'
import { liveness } from '../base/process/liveness.ts'
import { geteuid } from '../base/process/platform.ts'
import { isRequestId, isSessionId, requestIdIn } from '../base/text/id.ts'
import { outputExpiry } from '../scratch/create-in.ts'
import { keptScratches, ownedRun, type Owner, readChildren, readOwner } from '../scratch/owner.ts'
import type { ScratchRoot } from '../scratch/root.ts'
import { readTrackedRecord } from '../scratch/tracked-record.ts'
import type { SweptDirectory } from './swept-directories.ts'
import { decideFate, type EntryFacts, type KeepReason, type SweepVerdict, unprovenAgeMs } from './verdict.ts'

/** An entry of a swept directory, the facts about it, and the verdict of a sweep. */
export interface JudgedEntry {
  directory: SweptDirectory
  path: string
  facts: EntryFacts
  verdict: SweepVerdict
}

/** Inspects an entry and judges it; undefined if it has disappeared. */
export async function judgeEntry(
  directory: SweptDirectory,
  name: string,
  now: number,
): Promise<JudgedEntry | undefined> {
  const facts = gatherFacts(directory, name)
  if (facts === undefined) return undefined
  const path = join(directory.path, name)
  const verdict = decideFate(facts, now)
  // Where age alone decides, everything in the tree must be old, not only the entry itself.
  const ifYoung = verdict.remove && facts.type === 'directory' ? keptWhileYoung[verdict.reason] : undefined
  const isYoung = ifYoung !== undefined && (await hasChangesSince(path, now - unprovenAgeMs))
  return { directory, path, facts, verdict: isYoung ? { remove: false, reason: ifYoung } : verdict }
}

const keptWhileYoung: Partial<Record<SweepVerdict['reason'], KeepReason>> = {
  'unknown-and-old': 'owner-unknown',
  'ownerless-and-old': 'ownerless',
}

/** A tree with more entries than this counts as old if that many are. */
const maxEntriesToCheck = 100_000

/** Whether anything in a tree changed since a time. An unreadable directory counts as changed. */
async function hasChangesSince(top: string, since: number): Promise<boolean> {
  const directories = [top]
  let checked = 0
  for (let path = directories.pop(); path !== undefined; path = directories.pop()) {
    await giveWay()
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
  return all.map((entry) =>
    old.has(entry) ? { ...entry, verdict: { remove: true, reason: 'superseded' } } : entry,
  )
}

/** Gathers what `decideFate` needs to know about one entry; undefined if the entry has disappeared. */
function gatherFacts(directory: SweptDirectory, name: string): EntryFacts | undefined {
  const { kind, root } = directory
  const path = join(directory.path, name)
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (stat === undefined) return undefined
  const facts: EntryFacts = {
    kind: 'other',
    type: typeOf(stat),
    sameUser: stat.uid === geteuid(),
    // The modification time of an output is its expiry, which lies in the future.
    changedAt: kind === 'out' ? stat.ctimeMs : Math.max(stat.mtimeMs, stat.ctimeMs),
    children: [],
  }
  if (kind === 'trash') return { ...facts, kind: 'trash' }
  if (kind === 'sessions') {
    const isOwnDirectory = facts.type === 'directory' && facts.sameUser
    return isOwnDirectory && isTrashedSession(name, path) ? { ...facts, kind: 'session' } : facts
  }
  if (kind === 'tracked' && root !== undefined) return withTracker(facts, name, root)
  if (kind === 'out' && root !== undefined) return withExpiry(facts, name, root, stat.mtimeMs)
  if (kind === 'runs' && facts.type === 'symlink') return withLink(facts, name, directory.path)
  const isScratch = kind === 'runs' && facts.type === 'directory' && facts.sameUser && isRequestId(name)
  return isScratch ? { ...facts, kind: 'scratch', ...scratchOwner(path) } : facts
}

const typeOf = (stat: Stats): EntryFacts['type'] =>
  stat.isSymbolicLink() ? 'symlink' : stat.isDirectory() ? 'directory' : 'file'

const seenOwner = (owner: Owner): NonNullable<EntryFacts['owner']> => ({
  liveness: liveness(owner.identity),
  keep: owner.keep,
  createdAt: owner.created_at,
})

/**
 * A record of tracked paths shares the fate of its run's scratch. Returns undefined while that scratch
 * exists: only a record whose scratch is gone is judged by itself.
 */
function withTracker(facts: EntryFacts, name: string, root: ScratchRoot): EntryFacts | undefined {
  if (facts.type !== 'file' || !facts.sameUser) return facts
  // An unfinished rewrite of a record names no owner.
  if (isStaged(name)) return { ...facts, kind: 'tracked' }
  if (!isRequestId(name)) return facts
  if ([root.runs, root.trash].some((directory) => exists(join(directory, name)))) return undefined
  const tracked = { ...facts, kind: 'tracked' as const }
  try {
    const lives = readTrackedRecord(root, name)?.owners.map(liveness) ?? []
    const liveliest = (['alive', 'unknown', 'dead'] as const).find((life) => lives.includes(life))
    if (liveliest === undefined) return tracked
    return { ...tracked, owner: { liveness: liveliest, keep: 'never', createdAt: facts.changedAt } }
  } catch {
    return { ...tracked, unreadable: true }
  }
}

/** The time to keep an output counts from the end of its run: nothing expires while the run may be alive. */
function withExpiry(facts: EntryFacts, name: string, root: ScratchRoot, modifiedAt: number): EntryFacts {
  const earliest = outputExpiry(name)
  if (earliest === undefined) return facts
  const owner = scratchOwner(join(root.runs, requestIdIn(name) ?? ''))
  return { ...facts, kind: 'output', expiresAt: Math.max(earliest, modifiedAt), ...owner }
}

/** An owner record is judged by itself, as a scratch being made or removed, only without its scratch. */
function withLink(facts: EntryFacts, name: string, runs: string): EntryFacts | undefined {
  const requestId = ownedRun(name)
  if (requestId === undefined || !facts.sameUser) return facts
  const scratch = join(runs, requestId)
  if (exists(scratch)) return undefined
  const { owner, unreadable } = scratchOwner(scratch)
  return { ...facts, kind: 'owner', unreadable, owner: owner && { ...owner, keep: 'never' } }
}

function scratchOwner(path: string): Partial<EntryFacts> {
  let owner: Owner | undefined
  try {
    owner = readOwner(path, 'throwOnError')
  } catch {
    // A record without read permission is not a missing one: its owner may be alive.
    return { unreadable: true }
  }
  if (owner === undefined) return {}
  return { owner: seenOwner(owner), children: readChildren(path, owner)?.map(liveness) ?? ['unknown'] }
}

/** Every session has one from the beginning. */
const manifestFile = 'manifest.json'

/** The name alone proves nothing: a directory is a session if it contains a manifest, as a regular file. */
const isTrashedSession = (name: string, path: string): boolean =>
  isSessionName(name) && (lstatSync(join(path, manifestFile), { throwIfNoEntry: false })?.isFile() ?? false)

/** `<sessionId>`, or `<sessionId>-<suffix>` if the trash already had a session with that id. */
const isSessionName = (name: string): boolean =>
  isSessionId(name) || (/-[A-Za-z0-9._]+$/.test(name) && isSessionId(name.slice(0, name.lastIndexOf('-'))))
