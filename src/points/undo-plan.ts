import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ifPossible } from '../base/errors/if-possible.ts'
import { bytePath, latin1Of } from '../base/fs/paths.ts'
import { createPrivateFile, makePrivateDirectories } from '../base/fs/private-file.ts'
import { readSmallFile } from '../base/fs/regular-file.ts'
import { removeTree } from '../base/fs/remove-tree.ts'
import { isRegular, parentsOf } from './disk-entry.ts'
import { gitFailure, joinNul, runGit, splitNul } from './git.ts'
import { type PointStore, tempName } from './store.ts'
import { isSameEntry, type PathChange, readBlobs, type TreeEntry } from './tree-diff.ts'

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
  /** Paths that cannot be brought back. With one, nothing is written. */
  conflicts: { path: string; why: string }[]
  /** Paths that stay although the change sets made them, because they would be ignored again. */
  kept: string[]
}

/** What becomes of one path of one change set. */
type PathVerdict =
  | { verdict: 'entry'; entry: TreeEntry | undefined }
  | { verdict: 'merge'; mode: string }
  | { verdict: 'conflict'; why: string }

/**
 * Decides what undoing one change makes of a path. A path that is as the change left it goes back; one that
 * is already as before stays. Contents that were changed again since are merged, if all three are regular
 * files.
 */
function undoPath({ before, after }: PathChange, present: TreeEntry | undefined): PathVerdict {
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

/**
 * Computes what undoing change sets, newest first, makes of their paths. `changes` are those of a set, and
 * `since` is how the present differs from its end. The caller holds the lock of the store.
 */
export async function planUndo(
  store: PointStore,
  sets: readonly { changes: readonly PathChange[]; since: readonly PathChange[] }[],
): Promise<UndoPlan> {
  const planned = new Map<string, FileChange>()
  const conflicts: UndoPlan['conflicts'] = []
  for (const { changes, since } of sets) {
    const presentEntries = new Map(since.map(({ path, after }) => [path, after]))
    for (const change of changes) {
      const { path, before, after } = change
      const from = presentEntries.has(path) ? presentEntries.get(path) : after
      const current = planned.get(path) ?? { path, from, to: from, isMerged: false }
      const verdict = undoPath(change, current.to)
      if (verdict.verdict === 'conflict') conflicts.push({ path, why: verdict.why })
      else if (verdict.verdict === 'entry') planned.set(path, { ...current, to: verdict.entry })
      else {
        const oid = await mergeBlobs(store, [current.to, after, before])
        if (oid === undefined) conflicts.push({ path, why: 'the same lines were changed since' })
        else planned.set(path, { ...current, to: { mode: verdict.mode, oid }, isMerged: true })
      }
    }
  }
  const changes = [...planned.values()].filter(({ from, to }) => !isSameEntry(from, to))
  changes.sort((a, b) => (a.path < b.path ? -1 : 1))
  const kept = new Set(await ignoredDeletions(store, changes))
  return { changes: changes.filter(({ path }) => !kept.has(path)), conflicts, kept: [...kept] }
}

/** Merges contents (present, after, before) with `git merge-file`, and keeps the result in the store. */
async function mergeBlobs(
  store: PointStore,
  versions: readonly (TreeEntry | undefined)[],
): Promise<string | undefined> {
  const oids = versions.map((entry) => entry?.oid ?? '')
  const blobs = await readBlobs(store, oids)
  return await inTempDirectory(store, async (directory) => {
    const files = oids.map((oid, index) => {
      const file = join(directory, String(index))
      createPrivateFile(file, blobs.get(oid) ?? '')
      return file
    })
    const { code, stdout } = await runGit(['merge-file', '-p', '-q', ...files], store.gitOptions())
    // The exit code is the number of conflicts; 255 is an error, such as contents that are not text.
    if (code !== 0) return undefined
    const written = await store.git(['hash-object', '-w', '--stdin'], { input: stdout })
    return written.toString().trim()
  })
}

/** Gives `act` a directory in the store, which the lock of the store clears if this process is killed. */
async function inTempDirectory<Result>(
  store: PointStore,
  act: (directory: string) => Promise<Result>,
): Promise<Result> {
  const directory = store.file(tempName)
  makePrivateDirectories(directory)
  try {
    return await act(directory)
  } finally {
    ifPossible(() => removeTree(directory))
  }
}

/**
 * The deleted paths that the resulting `.gitignore` files ignore. Such a file may be older than the change
 * set, without a point that has its contents.
 */
async function ignoredDeletions(store: PointStore, changes: readonly FileChange[]): Promise<string[]> {
  const deleted = changes.flatMap(({ path, to }) => (to === undefined ? [path] : []))
  if (deleted.length === 0) return []
  const rules = changes.filter(({ path }) => /(^|\/)\.gitignore$/.test(path))
  const plannedRules = new Map(rules.map(({ path, to }) => [path, to?.oid]))
  const contents = await readBlobs(
    store,
    rules.flatMap(({ to }) => to?.oid ?? []),
  )
  return await inTempDirectory(store, async (worktree) => {
    const top = latin1Of(worktree)
    const directories = new Set(deleted.flatMap((path) => ['.', ...parentsOf(path)]))
    for (const directory of directories) {
      const path = join(directory, '.gitignore')
      const oid = plannedRules.get(path)
      const text = plannedRules.has(path) ? contents.get(oid ?? '') : readSmallFile(store.pathOf(path))
      if (text === undefined) continue
      mkdirSync(bytePath(`${top}/${directory}`), { recursive: true, mode: 0o700 })
      writeFileSync(bytePath(`${top}/${path}`), text, { mode: 0o600 })
    }
    // This command takes no literal pathspecs; behind `./` no name is a pattern.
    const env = { GIT_WORK_TREE: worktree, GIT_LITERAL_PATHSPECS: '0' }
    const input = joinNul(deleted.map((path) => `./${path}`))
    const args = ['check-ignore', '--no-index', '-z', '--stdin']
    const { code, stdout, stderr } = await runGit(args, store.gitOptions({ cwd: worktree, env, input }))
    // 1 means that none is ignored.
    if (code > 1) throw gitFailure(args, stderr)
    return splitNul(stdout).map((path) => path.slice(2))
  })
}
