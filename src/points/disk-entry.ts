import { createHash } from 'node:crypto'
import {
  closeSync,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  type Stats,
} from 'node:fs'
import { unless } from '../base/fs/exists.ts'
import { bytePath } from '../base/fs/paths.ts'
import { safeOpenFlags } from '../base/fs/regular-file.ts'
import { isSameEntry, type TreeEntry } from './tree-diff.ts'

/** What is at a path of the worktree. */
export type DiskEntry =
  | { kind: 'nothing' }
  | { kind: 'directory' }
  | { kind: 'special' }
  | { kind: 'entry'; entry: TreeEntry; stat: Stats }

/** How files of a worktree are compared with a tree. */
export interface DiskRules {
  /** The top of the worktree, in Latin-1. */
  root: string
  objectFormat: string
  trustsModes: boolean
}

/** Reads what is at a path, with the id that git would give to its contents as they are on disk. */
export function readDiskEntry(rules: DiskRules, path: string): DiskEntry {
  const absolute = bytePath(`${rules.root}/${path}`)
  const stat = unless(['ENOTDIR', 'ELOOP'], () => lstatSync(absolute, { throwIfNoEntry: false }))
  if (stat === undefined) return { kind: 'nothing' }
  if (stat.isDirectory()) return { kind: 'directory' }
  if (stat.isSymbolicLink()) {
    const target = readlinkSync(absolute, { encoding: 'buffer' })
    const hash = blobHash(rules, target.length).update(target)
    return { kind: 'entry', entry: { mode: '120000', oid: hash.digest('hex') }, stat }
  }
  if (!stat.isFile()) return { kind: 'special' }
  const mode = (stat.mode & 0o100) === 0 ? '100644' : '100755'
  return { kind: 'entry', entry: { mode, oid: hashFile(rules, absolute) }, stat }
}

/** Is this what a tree has at that path? Without an entry, nothing may be there. */
export function isAsIn(rules: DiskRules, disk: DiskEntry, entry: TreeEntry | undefined): boolean {
  if (entry === undefined || disk.kind !== 'entry') return entry === undefined && disk.kind === 'nothing'
  if (isSameEntry(disk.entry, entry)) return true
  const areFiles = isRegular(disk.entry) && isRegular(entry)
  return !rules.trustsModes && areFiles && disk.entry.oid === entry.oid
}

/** Is this a regular file, and not a link? */
export const isRegular = ({ mode }: TreeEntry): boolean => mode.startsWith('100')

const blobHash = ({ objectFormat }: DiskRules, size: number) =>
  createHash(objectFormat === 'sha256' ? 'sha256' : 'sha1').update(`blob ${size}\0`)

function hashFile(rules: DiskRules, path: string | Buffer): string {
  const fd = openSync(path, safeOpenFlags)
  try {
    const hash = blobHash(rules, fstatSync(fd).size)
    const chunk = Buffer.allocUnsafe(1 << 20)
    for (let length = readSync(fd, chunk); length > 0; length = readSync(fd, chunk))
      hash.update(chunk.subarray(0, length))
    return hash.digest('hex')
  } finally {
    closeSync(fd)
  }
}

/** The paths of all files below a directory, in Latin-1. */
export function filesBelow(rules: DiskRules, directory: string): string[] {
  return readdirSync(bytePath(`${rules.root}/${directory}`), {
    withFileTypes: true,
    encoding: 'buffer',
  }).flatMap((found) => {
    const path = `${directory}/${found.name.toString('latin1')}`
    return found.isDirectory() ? filesBelow(rules, path) : [path]
  })
}
