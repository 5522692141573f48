import { join, relative, resolve } from 'node:path'
import { isWithin, realParentPath } from '../../base/fs/paths.ts'
import { exists, listIfReadable } from '../../base/fs/exists.ts'
import { runInTurns } from '../../base/process/run-generator.ts'
import { readOwner } from '../../scratch/owner.ts'
import type { ScratchRoot } from '../../scratch/root.ts'
import { measureEntry } from './measure-entries.ts'
import { type ContextLine, contextsContaining, readContexts } from '../../scratch/context-log.ts'
import type { TempEntry, MeasuredEntry } from './entry.ts'
import { listEntries, ownerFields } from './list-entries.ts'
import { readTrackedLines, type TrackedLine } from './tracked-line.ts'

/** A run that others were started in. */
export type ParentRun = Pick<TempEntry, 'request_id' | 'session_id' | 'command' | 'pid' | 'liveness'>

/** Where something comes from, as far as records tell. */
export interface TracedPath {
  path: string
  exists: boolean
  /** The entry of the root that it belongs to. */
  entry: MeasuredEntry
  /** The run this run was started in, the one that was started in, and so on. */
  parents: ParentRun[]
  /** The contexts it lies in, the outermost first. */
  contexts: ContextLine[]
  /** For a path elsewhere: the record by which it is tracked. */
  tracked: TrackedLine | null
}

/** Who made this? Undefined if it is neither in the root nor tracked by a run. */
export async function tracePath(
  root: ScratchRoot,
  path: string,
  now: number,
): Promise<TracedPath | undefined> {
  // The root is known by its real path.
  const target = realParentPath(resolve(path))
  const entries = await runInTurns(listEntries(root, now))
  const inside = entries.find((entry) => isWithin(target, entry.path))
  const tracked = inside === undefined ? findTracked(root, target) : undefined
  const entry = inside ?? entries.find((entry) => entry.path === tracked?.record)
  if (entry === undefined) return undefined
  return {
    path: target,
    exists: exists(target),
    entry: await measureEntry(entry),
    parents: parentsOf(root, entry),
    contexts: inside === undefined ? [] : contextsIn(root, inside, target),
    tracked: tracked?.line ?? null,
  }
}

/** The record that covers a path most closely. */
function findTracked(root: ScratchRoot, target: string): { record: string; line: TrackedLine } | undefined {
  const found = listIfReadable(root.tracked).flatMap((name) => {
    const record = join(root.tracked, name)
    return readTrackedLines(root, name)
      .filter((line) => isWithin(target, realParentPath(line.path)))
      .map((line) => ({ record, line }))
  })
  // What stands there now comes before what has stood there once.
  found.sort(
    (a, b) => Number(b.line.sweepable) - Number(a.line.sweepable) || b.line.path.length - a.line.path.length,
  )
  return found[0]
}

/** Of an output, the run's own log says only what was moved there under its old name. */
function contextsIn(root: ScratchRoot, { kind, path, request_id }: TempEntry, target: string): ContextLine[] {
  const inside = relative(path, target)
  if (kind === 'scratch' || kind === 'trash') return contextsContaining(inside, readContexts(path))
  if (kind !== 'output' || request_id === null) return []
  const own = contextsContaining(inside, readContexts(path))
  return own.length > 0 ? own : contextsContaining(inside, readContexts(join(root.path, request_id)))
}

/** More would be a forgery. */
const maxParents = 32

function parentsOf(root: ScratchRoot, { parent_request_id }: TempEntry): ParentRun[] {
  const parents: ParentRun[] = []
  const seen = new Set<string>()
  let next = parent_request_id
  while (next !== null && !seen.has(next) && parents.length < maxParents) {
    seen.add(next)
    const owner = readOwner(join(root.path, next)) ?? readOwner(join(root.trash, next))
    const { parent_request_id, ...who } = ownerFields(owner, next)
    parents.push(who)
    next = parent_request_id
  }
  return parents
}
