import {
  chmodSync,
  chownSync,
  closeSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  type Stats,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { ifPossible, succeeds } from '../base/errors/if-possible.ts'
import { unless } from '../base/fs/exists.ts'
import { writeAll } from '../base/fs/private-file.ts'
import { isAsIn, isChanged, isRegular, parentsOf, readDiskEntry } from './disk-entry.ts'
import type { PointStore } from './store.ts'
import { readBlobs, type TreeEntry } from './tree-diff.ts'
import type { FileChange } from './undo-plan.ts'

/**
 * Writes planned changes: stages all new contents, deletes, then renames into place. A path that is already
 * as planned stays. A crash at any moment leaves every path either as before or as planned. `undoId` names
 * the staging directory. Returns the paths that another program has changed: they stay as they are.
 */
export async function writeFiles(
  store: PointStore,
  undoId: string,
  changes: readonly FileChange[],
): Promise<string[]> {
  // In the worktree, because a rename does not leave a file system.
  const staging = `.stint-undo-${undoId}`
  const removeStaging = (): void => rmSync(store.pathOf(staging), { recursive: true, force: true })
  removeStaging()
  await stageContents(store, staging, changes)
  const refused: string[] = []
  // Deepest first, so that a directory is empty when its turn comes.
  for (const change of changes.toReversed())
    if (change.to === undefined && !deleteFile(store, change)) refused.push(change.path)
  for (const [index, { path, from, to }] of changes.entries())
    if (to !== undefined && !placeFile(store, { path, from, to }, `${staging}/${index}`)) refused.push(path)
  syncDirectories(store, changes)
  removeStaging()
  return refused
}

/**
 * Writes and syncs all new contents, so that a full disk shows before anything has changed. The name of a
 * staged file is the index of its change.
 */
async function stageContents(
  store: PointStore,
  staging: string,
  changes: readonly FileChange[],
): Promise<void> {
  const contents = await readBlobs(
    store,
    changes.flatMap(({ to }) => to?.oid ?? []),
  )
  mkdirSync(store.pathOf(staging), 0o700)
  // Neither the user's git nor the next point lists what a crash leaves here.
  writeFileSync(store.pathOf(`${staging}/.gitignore`), '*\n')
  for (const [index, { to }] of changes.entries()) {
    if (to === undefined) continue
    const file = store.pathOf(`${staging}/${index}`)
    const content = contents.get(to.oid) ?? Buffer.alloc(0)
    if (isRegular(to)) stageFile(file, content, to)
    else symlinkSync(content, file)
  }
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

/** Deletes a file, and its directories if they are empty then. False if it is not as expected. */
function deleteFile(store: PointStore, { path, from }: FileChange): boolean {
  if (hasLinkAbove(store, path)) return false
  const disk = readDiskEntry(store, path)
  if (disk.kind === 'nothing' || disk.kind === 'directory') return true
  if (!isAsIn(store, disk, from) || isChanged(store, path, disk)) return false
  unlinkSync(store.pathOf(path))
  for (const parent of parentsOf(path)) if (!succeeds(() => rmdirSync(store.pathOf(parent)))) break
  return true
}

/** Puts a staged file in its place. False if what is there is not as expected. */
function placeFile(
  store: PointStore,
  { path, from, to }: { path: string; from?: TreeEntry; to: TreeEntry },
  staged: string,
): boolean {
  if (hasLinkAbove(store, path)) return false
  const disk = readDiskEntry(store, path)
  if (isAsIn(store, disk, to)) return true
  if (disk.kind === 'directory') removeEmptyDirectories(store, path)
  else if (!isAsIn(store, disk, from)) return false
  if (disk.kind === 'entry' && isRegular(disk.entry) && isRegular(to))
    copyPermissions(disk.stat, store.pathOf(staged), to)
  // Not with `recursive`: of EROFS and EIO, Node 20 makes an ENOENT then.
  for (const parent of parentsOf(path).toReversed()) unless(['EEXIST'], () => mkdirSync(store.pathOf(parent)))
  // An editor may have saved the file while it was read: a rename would take that away.
  if (isChanged(store, path, disk)) return false
  renameSync(store.pathOf(staged), store.pathOf(path))
  return true
}

/** Gives a file the owner and permissions of the replaced one, with the executable bit of its new version. */
function copyPermissions({ mode, uid, gid }: Stats, file: string | Buffer, to: TreeEntry): void {
  const plain = mode & 0o7666
  chmodSync(file, to.mode === '100755' ? plain | ((plain & 0o444) >> 2) : plain)
  const staged = lstatSync(file)
  // Only root can give a file away; for everybody else the two are equal, or the group stays the user's.
  if (staged.uid !== uid || staged.gid !== gid) ifPossible(() => chownSync(file, uid, gid))
}

/** Removes a directory that contains nothing but directories; throws ENOTEMPTY for any other. */
function removeEmptyDirectories(store: PointStore, path: string): void {
  const directory = store.pathOf(path)
  for (const entry of readdirSync(directory, { withFileTypes: true, encoding: 'buffer' }))
    if (entry.isDirectory()) removeEmptyDirectories(store, `${path}/${entry.name.toString('latin1')}`)
  rmdirSync(directory)
}

/** Is a directory above this path a link? Files behind it are elsewhere, perhaps outside of the worktree. */
const hasLinkAbove = (store: PointStore, path: string): boolean =>
  parentsOf(path).some((parent) => {
    const directory = store.pathOf(parent)
    const stat = unless(['ENOTDIR', 'ELOOP'], () => lstatSync(directory, { throwIfNoEntry: false }))
    return stat?.isSymbolicLink() ?? false
  })

/** Makes the names that were made or removed durable, also of directories, if the file system can do it. */
function syncDirectories(store: PointStore, changes: readonly FileChange[]): void {
  for (const directory of new Set(changes.flatMap(({ path }) => [...parentsOf(path), '.']))) {
    const fd = ifPossible(() => openSync(store.pathOf(directory), 'r'))
    if (fd === undefined) continue
    ifPossible(() => fsyncSync(fd))
    closeSync(fd)
  }
}
