import { createHash } from 'node:crypto'
import { closeSync, fstatSync, lstatSync, openSync, readdirSync, readlinkSync, readSync } from 'node:fs'
import type { Stats } from 'node:fs'
import { dirname, join } from 'node:path'
import { unless } from '../base/fs/exists.ts'
import { mountsBeneath } from '../base/fs/mounts.ts'
import { isWithin, utf8Of } from '../base/fs/paths.ts'
import { safeOpenFlags } from '../base/fs/regular-file.ts'
import type { PointStore } from './store.ts'
import { isSameEntry, type TreeEntry } from './tree-diff.ts'
import type { FileChange, UndoPlan } from './undo-plan.ts'

/** What is at a path of the worktree. */
export type DiskEntry =
  | { kind: 'nothing' | 'directory' | 'special' }
  | { kind: 'entry'; entry: TreeEntry; stat: Stats }

/** Reads what is at a path, with the id that git would give to its contents as they are on disk. */
export function readDiskEntry(store: PointStore, path: string): DiskEntry {
  const absolute = store.pathOf(path)
  const stat = unless(['ENOTDIR', 'ELOOP'], () => lstatSync(absolute, { throwIfNoEntry: false }))
  if (stat === undefined) return { kind: 'nothing' }
  if (stat.isDirectory()) return { kind: 'directory' }
  if (stat.isSymbolicLink()) {
    const target = readlinkSync(absolute, { encoding: 'buffer' })
    const oid = blobHash(store, target.length).update(target).digest('hex')
    return { kind: 'entry', entry: { mode: '120000', oid }, stat }
  }
  if (!stat.isFile()) return { kind: 'special' }
  const mode = (stat.mode & 0o100) === 0 ? '100644' : '100755'
  return { kind: 'entry', entry: { mode, oid: hashFile(store, absolute) }, stat }
}

/** Is this what a tree has at that path? Without an entry, nothing may be there. */
export function isAsIn(store: PointStore, disk: DiskEntry, entry: TreeEntry | undefined): boolean {
  if (entry === undefined || disk.kind !== 'entry') return entry === undefined && disk.kind === 'nothing'
  if (isSameEntry(disk.entry, entry)) return true
  const areFiles = isRegular(disk.entry) && isRegular(entry)
  return !store.facts.trusts_modes && areFiles && disk.entry.oid === entry.oid
}

/** Whether another program has changed a path since it was read, which the time of its inode shows. */
export function isChanged(store: PointStore, path: string, disk: DiskEntry): boolean {
  const now = lstatSync(store.pathOf(path), { throwIfNoEntry: false })
  if (disk.kind !== 'entry') return now !== undefined
  return now?.ino !== disk.stat.ino || now.ctimeMs !== disk.stat.ctimeMs || now.size !== disk.stat.size
}

/** Is this a regular file, and not a link? */
export const isRegular = ({ mode }: TreeEntry): boolean => mode.startsWith('100')

const blobHash = ({ facts }: PointStore, size: number) =>
  createHash(facts.object_format === 'sha256' ? 'sha256' : 'sha1').update(`blob ${size}\0`)

function hashFile(store: PointStore, path: string | Buffer): string {
  const fd = openSync(path, safeOpenFlags)
  try {
    const hash = blobHash(store, fstatSync(fd).size)
    const chunk = Buffer.allocUnsafe(1 << 20)
    for (let length = readSync(fd, chunk); length > 0; length = readSync(fd, chunk))
      hash.update(chunk.subarray(0, length))
    return hash.digest('hex')
  } finally {
    closeSync(fd)
  }
}

/** The directories above a path, from the nearest to the top, without the root. */
export function parentsOf(path: string): string[] {
  const parent = dirname(path)
  return parent === '.' ? [] : [parent, ...parentsOf(parent)]
}

/**
 * Finds what keeps changes from being written: a file that the point does not have, a link, a mount or
 * another repository on the way, files of others in a directory that has to go.
 */
export function findObstacles(store: PointStore, changes: readonly FileChange[]): UndoPlan['conflicts'] {
  const vacated = new Set(changes.filter(({ to }) => to === undefined).map(({ path }) => path))
  const placed = new Set(changes.filter(({ to }) => to !== undefined).map(({ path }) => path))
  const mounts = mountsBeneath(store.root).filter((mount) => mount !== store.root)
  return changes.flatMap((change) => {
    const { path, to } = change
    if (mounts.some((mount) => isWithin(join(store.root, utf8Of(path)), mount)))
      return [{ path, why: 'it is on another file system' }]
    const isBelowFile = to !== undefined && parentsOf(path).some((parent) => placed.has(parent))
    const why = isBelowFile
      ? 'one of the change sets needs a file where the other needs a directory'
      : (parentObstacle(store, path, vacated) ?? pathObstacle(store, change, vacated))
    return why === undefined ? [] : [{ path, why }]
  })
}

function parentObstacle(store: PointStore, path: string, vacated: ReadonlySet<string>): string | undefined {
  for (const parent of parentsOf(path).filter((directory) => !vacated.has(directory))) {
    const { kind } = readDiskEntry(store, parent)
    if (kind === 'nothing') continue
    if (kind !== 'directory') return 'a directory on its path is now a file or a link'
    if (readDiskEntry(store, `${parent}/.git`).kind !== 'nothing') return 'it belongs to another repository'
  }
  return undefined
}

function pathObstacle(
  store: PointStore,
  { path, from, to }: FileChange,
  vacated: ReadonlySet<string>,
): string | undefined {
  const disk = readDiskEntry(store, path)
  if (isAsIn(store, disk, from)) return undefined
  if (from !== undefined) return 'it is being changed'
  if (parentsOf(path).some((parent) => vacated.has(parent))) return undefined
  if (disk.kind !== 'directory') return 'a file is there that the point does not have (ignored, or too large)'
  const others = to === undefined ? [] : filesBelow(store, path).filter((file) => !vacated.has(file))
  return others.length === 0 ? undefined : 'a directory is there, with files that the point does not have'
}

/** The paths of all files below a directory. */
const filesBelow = (store: PointStore, directory: string): string[] =>
  readdirSync(store.pathOf(directory), { withFileTypes: true, encoding: 'buffer' }).flatMap((entry) => {
    const path = `${directory}/${entry.name.toString('latin1')}`
    return entry.isDirectory() ? filesBelow(store, path) : [path]
  })
