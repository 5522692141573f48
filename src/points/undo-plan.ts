import { dirname } from 'node:path'
import { type DiskRules, filesBelow, isAsIn, isRegular, readDiskEntry } from './disk-entry.ts'
import { isSameEntry, type PathChange, type TreeEntry } from './tree-diff.ts'

/** A path that an undo cannot bring back, and why. */
export interface UndoConflict {
  path: string
  why: string
}

/** A path that an undo writes: from what the present point has to what it will have. */
export interface FileChange {
  path: string
  from?: TreeEntry
  to?: TreeEntry
  /** Whether `to` has changes of others, too. */
  isMerged: boolean
}

export interface UndoPlan {
  changes: FileChange[]
  conflicts: UndoConflict[]
  /** Paths that stay although the change sets made them, because they would be ignored again. */
  kept: string[]
}

/** What becomes of one path of one change set. */
export type PathVerdict =
  | { verdict: 'entry'; entry: TreeEntry | undefined }
  | { verdict: 'merge'; mode: string }
  | { verdict: 'conflict'; why: string }

/**
 * Decides what undoing one change makes of a path. A path that is as the change left it goes back; one that
 * is already as before stays. Contents that were changed again since are merged, if all three are regular
 * files.
 */
export function undoPath({ before, after }: PathChange, present: TreeEntry | undefined): PathVerdict {
  if (isSameEntry(present, after)) return { verdict: 'entry', entry: before }
  if (isSameEntry(present, before)) return { verdict: 'entry', entry: present }
  if (present === undefined) return { verdict: 'conflict', why: 'it was deleted since' }
  if (before === undefined) return { verdict: 'conflict', why: 'it was added, and changed since' }
  if (after === undefined) return { verdict: 'conflict', why: 'it was deleted, and made again since' }
  if (![before, after, present].every(isRegular))
    return { verdict: 'conflict', why: 'it was changed since, and is not a regular file in all versions' }
  const mode = present.mode === after.mode ? before.mode : present.mode
  if (present.oid === after.oid) return { verdict: 'entry', entry: { mode, oid: before.oid } }
  if (present.oid === before.oid || before.oid === after.oid)
    return { verdict: 'entry', entry: { mode, oid: present.oid } }
  return { verdict: 'merge', mode }
}

/** Merges contents, given by their ids; undefined if they conflict. */
export type Merge = (present: string, after: string, before: string) => Promise<string | undefined>

/** A change set to undo: its changes, and how the present differs from the end of the set. */
export interface UndoneChanges {
  changes: readonly PathChange[]
  since: ReadonlyMap<string, PathChange>
}

/** Computes what undoing change sets, newest first, makes of their paths. Writes nothing. */
export async function planUndo(sets: readonly UndoneChanges[], merge: Merge): Promise<UndoPlan> {
  const planned = new Map<string, FileChange>()
  const conflicts: UndoConflict[] = []
  for (const { changes, since } of sets)
    for (const change of changes) {
      const { path, before, after } = change
      const later = since.get(path)
      const from = later === undefined ? after : later.after
      const current = planned.get(path) ?? { path, from, to: from, isMerged: false }
      const verdict = undoPath(change, current.to)
      if (verdict.verdict === 'conflict') conflicts.push({ path, why: verdict.why })
      else if (verdict.verdict === 'entry') planned.set(path, { ...current, to: verdict.entry })
      else {
        const oid = await merge(current.to?.oid ?? '', after?.oid ?? '', before?.oid ?? '')
        if (oid === undefined) conflicts.push({ path, why: 'the same lines were changed since' })
        else planned.set(path, { ...current, to: { mode: verdict.mode, oid }, isMerged: true })
      }
    }
  const changes = [...planned.values()].filter(({ from, to }) => !isSameEntry(from, to))
  return { changes: changes.sort((a, b) => (a.path < b.path ? -1 : 1)), conflicts, kept: [] }
}

/**
 * Finds what keeps changes from being written: a file that the point does not have, a link or another
 * repository on the way, files of others in a directory that has to go.
 */
export function findObstacles(rules: DiskRules, changes: readonly FileChange[]): UndoConflict[] {
  const vacated = new Set(changes.filter(({ to }) => to === undefined).map(({ path }) => path))
  const placed = new Set(changes.filter(({ to }) => to !== undefined).map(({ path }) => path))
  return changes.flatMap((change) => {
    const { path, to } = change
    const isBelowFile = to !== undefined && parentsOf(path).some((parent) => placed.has(parent))
    const why = isBelowFile
      ? 'one of the change sets needs a file where the other needs a directory'
      : (parentObstacle(rules, path, vacated) ?? pathObstacle(rules, change, vacated))
    return why === undefined ? [] : [{ path, why }]
  })
}

/** The directories above a path, from the nearest to the top, without the root. */
export function parentsOf(path: string): string[] {
  const parent = dirname(path)
  return parent === '.' ? [] : [parent, ...parentsOf(parent)]
}

function parentObstacle(rules: DiskRules, path: string, vacated: ReadonlySet<string>): string | undefined {
  for (const parent of parentsOf(path)) {
    if (vacated.has(parent)) continue
    const { kind, ...rest } = readDiskEntry(rules, parent)
    if (kind === 'nothing') continue
    if (kind === 'entry' && 'entry' in rest && rest.entry.mode === '120000')
      return 'a directory on its path is now a link'
    if (kind !== 'directory') return 'a file is where its directory was'
    if (readDiskEntry(rules, `${parent}/.git`).kind !== 'nothing') return 'it belongs to another repository'
  }
  return undefined
}

function pathObstacle(
  rules: DiskRules,
  { path, from, to }: FileChange,
  vacated: ReadonlySet<string>,
): string | undefined {
  const disk = readDiskEntry(rules, path)
  if (isAsIn(rules, disk, from)) return undefined
  const isBelowVacated = parentsOf(path).some((parent) => vacated.has(parent))
  if (from === undefined && isBelowVacated) return undefined
  if (from !== undefined) return 'it is being changed'
  if (disk.kind !== 'directory') return 'a file is there that the point does not have (ignored, or too large)'
  const others = to === undefined ? [] : filesBelow(rules, path).filter((each) => !vacated.has(each))
  return others.length === 0 ? undefined : 'a directory is there, with files that the point does not have'
}
