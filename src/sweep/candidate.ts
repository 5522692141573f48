import { lstatSync, type Stats } from 'node:fs'
import { dirname, join } from 'node:path'
import { isStaged } from '../base/fs/atomic-file.ts'
import { isRequestId } from '../base/text/id.ts'
import { liveness, ownIdentity } from '../base/process/liveness.ts'
import { exists } from '../base/fs/exists.ts'
import { geteuid } from '../base/process/platform.ts'
import { readChildren } from '../scratch/children.ts'
import { outputExpiry } from '../scratch/output.ts'
import { type Owner, readOwner } from '../scratch/owner.ts'
import type { ScratchRoot } from '../scratch/root.ts'
import { parseStagingName } from '../scratch/owner.ts'
import { readTrackedRecord } from '../scratch/tracked-record.ts'
import type { SweptDirectory } from './places.ts'
import { isTrashedSession } from './session-trash.ts'
import type { EntryFacts } from './verdict.ts'

/** Gathers what `verdict` needs to know of one entry; undefined if it is gone already. */
export function gatherFacts({ directory, kind, root }: SweptDirectory, name: string): EntryFacts | undefined {
  const path = join(directory, name)
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (stat === undefined) return undefined
  const candidate: EntryFacts = {
    kind: 'other',
    type: typeOf(stat),
    ours: stat.uid === geteuid(),
    // The modification time of an output is when it expires, in the future.
    changedAt: kind === 'out' ? stat.ctimeMs : Math.max(stat.mtimeMs, stat.ctimeMs),
    children: [],
  }
  if (kind === 'trash') return { ...candidate, kind: 'trash' }
  if (kind === 'sessions')
    return isTrashedSession(name, directory) ? { ...candidate, kind: 'session' } : candidate
  if (kind === 'tracked' && root !== undefined) return withTracker(candidate, name, root)
  if (kind === 'out') return withExpiry(candidate, name, directory, stat.mtimeMs)
  return candidate.type === 'directory' && candidate.ours ? withOwner(candidate, name, path) : candidate
}

const typeOf = (stat: Stats): EntryFacts['type'] =>
  stat.isSymbolicLink() ? 'symlink' : stat.isDirectory() ? 'directory' : 'file'

/** What may not be read is not missing: whoever owns it may be alive. */
function ownerOf(scratch: string): Owner | 'unreadable' | undefined {
  try {
    return readOwner(scratch, 'insist')
  } catch {
    return 'unreadable'
  }
}

/** A record shares the fate of its scratch; only one whose scratch is gone is judged by itself. Undefined for any other. */
function withTracker(candidate: EntryFacts, name: string, root: ScratchRoot): EntryFacts | undefined {
  if (candidate.type !== 'file' || !candidate.ours) return candidate
  // An unfinished rewrite of a record: it names no owner.
  if (isStaged(name)) return { ...candidate, kind: 'tracked' }
  if (!isRequestId(name)) return candidate
  if (exists(join(root.path, name)) || exists(join(root.trash, name))) return undefined
  const tracked = { ...candidate, kind: 'tracked' as const }
  try {
    const lives = readTrackedRecord(root, name)?.owners.map(liveness) ?? []
    const liveliest = (['alive', 'unknown', 'dead'] as const).find((each) => lives.includes(each))
    if (liveliest === undefined) return tracked
    return { ...tracked, owner: { liveness: liveliest, keep: 'never', createdAt: candidate.changedAt } }
  } catch {
    return { ...tracked, unreadable: true }
  }
}

/** The time to keep it counts from the end of its run: as long as that lives, nothing expires. */
function withExpiry(candidate: EntryFacts, name: string, directory: string, modifiedAt: number): EntryFacts {
  const earliest = outputExpiry(name)
  if (earliest === undefined) return candidate
  const expiresAt = Math.max(earliest, modifiedAt)
  const owner = readOwner(join(dirname(directory), name.replace(/^\d+-/, '')))
  const seen = owner && { liveness: liveness(owner.identity), keep: owner.keep, createdAt: owner.created_at }
  return { ...candidate, kind: 'output', expiresAt, owner: seen }
}

function withOwner(candidate: EntryFacts, name: string, path: string): EntryFacts {
  if (isRequestId(name)) {
    const owner = ownerOf(path)
    if (owner === 'unreadable') return { ...candidate, kind: 'scratch', unreadable: true }
    if (owner === undefined) return { ...candidate, kind: 'scratch' }
    const seen = { liveness: liveness(owner.identity), keep: owner.keep, createdAt: owner.created_at }
    return {
      ...candidate,
      kind: 'scratch',
      owner: seen,
      children: readChildren(path, owner)?.map(liveness) ?? ['unknown'],
    }
  }
  const maker = parseStagingName(name, ownIdentity())
  if (maker === undefined) return candidate
  const seen = { liveness: liveness(maker), keep: 'never' as const, createdAt: candidate.changedAt }
  return { ...candidate, kind: 'staging', owner: seen }
}
