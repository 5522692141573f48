import {
  chmodSync,
  chownSync,
  closeSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  rmSync,
  type Stats,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { ifPossible, succeeds } from '../base/errors/if-possible.ts'
import { errorCode } from '../base/errors/stint-error.ts'
import { unless } from '../base/fs/exists.ts'
import { bytePath } from '../base/fs/paths.ts'
import { writeAll } from '../base/fs/private-file.ts'
import { type DiskEntry, type DiskRules, isAsIn, isRegular, readDiskEntry } from './disk-entry.ts'
import type { TreeEntry } from './tree-diff.ts'
import { type FileChange, parentsOf } from './undo-plan.ts'

/** What writing has done: paths that are as planned now, and those that another program has changed. */
export interface Written {
  done: string[]
  changedByOthers: string[]
}

/** The place of staged files: in the worktree, because a rename does not leave a file system. */
const stagingDirectory = ({ root }: DiskRules, undoId: string): string => `${root}/.stint-undo-${undoId}`

const removeStaged = (rules: DiskRules, undoId: string): void =>
  rmSync(bytePath(stagingDirectory(rules, undoId)), { recursive: true, force: true })

/**
 * Writes planned changes: stages all new contents, deletes, then renames into place. A path that is already
 * as planned stays. One that is neither as before nor as planned was changed by another program, and stays,
 * too. A crash at any moment leaves every path either as before or as planned.
 */
export function writeFiles(
  rules: DiskRules,
  undoId: string,
  changes: readonly FileChange[],
  contents: ReadonlyMap<string, Buffer>,
): Written {
  const written: Written = { done: [], changedByOthers: [] }
  const staged = stageContents(rules, undoId, changes, contents)
  // Deepest first, so that a directory is empty when its turn comes.
  const deletions = changes.filter(({ to }) => to === undefined).toReversed()
  for (const change of deletions) note(written, change, deleteFile(rules, change))
  for (const change of changes)
    if (change.to !== undefined) note(written, change, placeFile(rules, change, staged.get(change.path)))
  syncDirectories(rules, changes)
  removeStaged(rules, undoId)
  return written
}

function note({ done, changedByOthers }: Written, { path }: FileChange, isDone: boolean): void {
  const list = isDone ? done : changedByOthers
  list.push(path)
}

/** Writes and syncs all new contents, so that a full disk shows before anything has changed. */
function stageContents(
  rules: DiskRules,
  undoId: string,
  changes: readonly FileChange[],
  contents: ReadonlyMap<string, Buffer>,
): Map<string, string> {
  const directory = stagingDirectory(rules, undoId)
  removeStaged(rules, undoId)
  mkdirSync(bytePath(directory), 0o700)
  // Neither the user's git nor the next point lists what a crash leaves here.
  writeFileSync(bytePath(`${directory}/.gitignore`), '*\n')
  const staged = new Map<string, string>()
  changes.forEach(({ path, from, to }, index) => {
    if (to === undefined || (from !== undefined && isModeChange(from, to))) return
    const content = contents.get(to.oid)
    if (content === undefined) throw new Error(`no contents for ${to.oid}`)
    const file = `${directory}/${index}`
    if (isRegular(to)) stageFile(bytePath(file), content, to)
    else symlinkSync(content, bytePath(file))
    staged.set(path, file)
  })
  return staged
}

function stageFile(file: string | Buffer, content: Buffer, { mode }: TreeEntry): void {
  // The umask takes away what the user does not want on new files.
  const fd = openSync(file, 'wx', mode === '100755' ? 0o777 : 0o666)
  try {
    writeAll(fd, content)
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

const isModeChange = (from: TreeEntry, to: TreeEntry): boolean =>
  from.oid === to.oid && isRegular(from) && isRegular(to)

/** Deletes a file that is as expected, and its directories if they are empty then. */
function deleteFile(rules: DiskRules, { path, from }: FileChange): boolean {
  if (hasLinkAbove(rules, path)) return false
  const disk = readDiskEntry(rules, path)
  if (disk.kind === 'nothing' || disk.kind === 'directory') return true
  if (!isAsIn(rules, disk, from)) return false
  unlinkSync(bytePath(`${rules.root}/${path}`))
  for (const parent of parentsOf(path))
    if (!succeeds(() => rmdirSync(bytePath(`${rules.root}/${parent}`)))) break
  return true
}

/** Puts a staged file in its place, if what is there is as expected. */
function placeFile(rules: DiskRules, { path, from, to }: FileChange, staged: string | undefined): boolean {
  if (hasLinkAbove(rules, path)) return false
  const target = bytePath(`${rules.root}/${path}`)
  const disk = readDiskEntry(rules, path)
  if (isAsIn(rules, disk, to)) return true
  if (disk.kind === 'directory') removeEmptyDirectories(rules, path)
  else if (!isAsIn(rules, disk, from)) return false
  if (staged === undefined) {
    if (disk.kind === 'entry') chmodSync(target, modeLike(disk.stat, to))
    return true
  }
  makeParents(rules, path)
  return disk.kind === 'entry' ? replace(disk, staged, target, to) : addNew(staged, target)
}

/** Not with `recursive`: of EROFS and EIO, Node 20 makes an ENOENT then. */
function makeParents(rules: DiskRules, path: string): void {
  for (const parent of parentsOf(path).toReversed())
    unless(['EEXIST'], () => mkdirSync(bytePath(`${rules.root}/${parent}`)))
}

function replace(
  { stat }: Extract<DiskEntry, { kind: 'entry' }>,
  staged: string,
  target: string | Buffer,
  to: TreeEntry | undefined,
): true {
  const file = bytePath(staged)
  if (to !== undefined && isRegular(to) && stat.isFile()) chmodSync(file, modeLike(stat, to))
  const { uid, gid } = lstatSync(file)
  // Only root can give a file away; for everybody else the two are equal, or the group stays the user's.
  if (to !== undefined && isRegular(to) && (uid !== stat.uid || gid !== stat.gid))
    ifPossible(() => chownSync(file, stat.uid, stat.gid))
  renameSync(file, target)
  return true
}

/** A link fails if the name is taken meanwhile; a rename would replace what is there. */
function addNew(staged: string, target: string | Buffer): boolean {
  const file = bytePath(staged)
  try {
    if (lstatSync(file).isSymbolicLink()) symlinkSync(readlinkSync(file, 'buffer'), target)
    else linkSync(file, target)
    unlinkSync(file)
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false
    // This file system has no hard links.
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK'].includes(errorCode(error) ?? '')) throw error
    renameSync(file, target)
  }
  return true
}

/** The permissions of the replaced file, with the executable bit of its new version. */
function modeLike({ mode }: Stats, to: TreeEntry | undefined): number {
  const plain = mode & 0o7666
  return to?.mode === '100755' ? plain | ((plain & 0o444) >> 2) : plain
}

/** Removes a directory that contains nothing but directories; throws ENOTEMPTY for any other. */
function removeEmptyDirectories(rules: DiskRules, path: string): void {
  const directory = bytePath(`${rules.root}/${path}`)
  for (const found of readdirSync(directory, { withFileTypes: true, encoding: 'buffer' }))
    if (found.isDirectory()) removeEmptyDirectories(rules, `${path}/${found.name.toString('latin1')}`)
  rmdirSync(directory)
}

/** Is a directory above this path a link? Files behind it are elsewhere, perhaps outside of the worktree. */
const hasLinkAbove = (rules: DiskRules, path: string): boolean =>
  parentsOf(path).some((parent) => {
    const directory = bytePath(`${rules.root}/${parent}`)
    const stat = unless(['ENOTDIR', 'ELOOP'], () => lstatSync(directory, { throwIfNoEntry: false }))
    return stat?.isSymbolicLink() ?? false
  })

/** Makes the new names durable before the undo counts as done. */
function syncDirectories({ root }: DiskRules, changes: readonly FileChange[]): void {
  for (const directory of new Set(changes.map(({ path }) => dirname(path)))) {
    const fd = ifPossible(() => openSync(bytePath(`${root}/${directory}`), 'r'))
    if (fd === undefined) continue
    ifPossible(() => fsyncSync(fd))
    closeSync(fd)
  }
}
