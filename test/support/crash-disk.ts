import { basename, dirname } from 'node:path'
import type { Disk } from '../../src/base/fs/disk.ts'
import { fileImages, type Tearing } from './crash-file-images.ts'
import { DirectoryNode, FileNode, type TreeNode } from './crash-nodes.ts'

/** The calls that change the disk. */
export const changingCalls = [
  'create',
  'write',
  'truncate',
  'sync',
  'rename',
  'link',
  'unlink',
  'makeDirectory',
  'syncDirectory',
] as const satisfies readonly (keyof Disk)[]

/** A call that is about to change the disk. */
export interface DiskCall {
  call: (typeof changingCalls)[number]
  path: string
}

/**
 * A disk in memory that also knows what a power cut may leave of it; `crash-states.ts` enumerates that. It
 * assumes what POSIX promises and journaling file systems do:
 *
 * - The contents of a file when its sync returned survive a crash, except for bytes that were changed since.
 * - Of the writes since then, any part may survive: each sector independently and in any order, and the last
 *   write up to any byte. A file may have grown without its data: that reads as zeros, never as the data of
 *   another file.
 * - A byte that is overwritten with the same value stays the same in any case.
 * - A truncation since the last sync may be undone.
 * - A name is as its directory's last sync left it, or as any change since has made it, each name
 *   independently. So a rename may survive or not, and so may the old name, but the new name never leads to a
 *   mixture of two files.
 * - Syncing a file does not sync its name, and syncing a directory does not sync the contents of its files.
 * - After a failed sync, the writes are on disk or lost for good: another sync does not help. A directory
 *   whose sync failed is synced by the next one: a file system that cannot write its metadata stops.
 */
export class CrashDisk implements Disk {
  readonly root: DirectoryNode
  /**
   * Called before each change. It may throw the error of the call, and return how many bytes a write shall
   * take.
   */
  before: ((call: DiskCall) => number | undefined | void) | undefined
  /** The number of changes so far. */
  changes = 0
  readonly #open = new Map<number, { node: FileNode; path: string }>()

  constructor(root: DirectoryNode = new DirectoryNode()) {
    this.root = root
  }

  create(path: string): number {
    this.#announce('create', path)
    const parent = this.#directory(dirname(path))
    if (parent.entries.has(basename(path))) throw errno('EEXIST', path)
    const node = new FileNode()
    parent.set(basename(path), node)
    return this.#opened(node, path)
  }

  open(path: string): number {
    return this.#opened(this.#file(path), path)
  }

  openToRead(path: string): number {
    return this.open(path)
  }

  write(file: number, bytes: Uint8Array, from: number, position: number): number {
    const { node, path } = this.#at(file)
    const taken = Math.min(this.#announce('write', path) ?? bytes.length - from, bytes.length - from)
    node.change({ kind: 'write', at: position, bytes: Buffer.from(bytes.subarray(from, from + taken)) })
    return taken
  }

  read(file: number, into: Uint8Array, position: number): number {
    const { content } = this.#at(file).node
    return content.copy(into, 0, Math.min(position, content.length))
  }

  size(file: number): number {
    return this.#at(file).node.content.length
  }

  truncate(file: number, length: number): void {
    const { node, path } = this.#at(file)
    this.#announce('truncate', path)
    node.change({ kind: 'truncate', length })
  }

  sync(file: number): void {
    const { node, path } = this.#at(file)
    try {
      this.#announce('sync', path)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EIO') node.failSync(fileImages(node, failedSync))
      throw error
    }
    node.sync()
  }

  close(file: number): void {
    this.#open.delete(file)
  }

  /** A second number for an open file. */
  duplicate(file: number): number {
    const { node, path } = this.#at(file)
    return this.#opened(node, path)
  }

  rename(from: string, to: string): void {
    this.#announce('rename', to)
    const [source, target] = [this.#directory(dirname(from)), this.#directory(dirname(to))]
    const node = source.entries.get(basename(from))
    if (node === undefined) throw errno('ENOENT', from)
    const taken = target.entries.get(basename(to))
    if (taken instanceof DirectoryNode && taken.entries.size > 0) throw errno('ENOTEMPTY', to)
    target.set(basename(to), node)
    source.set(basename(from), undefined)
  }

  link(from: string, to: string): void {
    this.#announce('link', to)
    const target = this.#directory(dirname(to))
    if (target.entries.has(basename(to))) throw errno('EEXIST', to)
    target.set(basename(to), this.#file(from))
  }

  unlink(path: string): void {
    this.#announce('unlink', path)
    const parent = this.#directory(dirname(path))
    if (!parent.entries.has(basename(path))) throw errno('ENOENT', path)
    parent.set(basename(path), undefined)
  }

  makeDirectory(path: string): void {
    this.#announce('makeDirectory', path)
    const parent = this.#directory(dirname(path))
    if (parent.entries.has(basename(path))) throw errno('EEXIST', path)
    parent.set(basename(path), new DirectoryNode())
  }

  list(directory: string): string[] {
    return [...this.#directory(directory).entries.keys()]
  }

  syncDirectory(directory: string): void {
    this.#announce('syncDirectory', directory)
    this.#directory(directory).sync()
  }

  #announce(call: DiskCall['call'], path: string): number | undefined {
    const taken = this.before?.({ call, path }) ?? undefined
    this.changes += 1
    return taken
  }

  #opened(node: FileNode, path: string): number {
    let file = 3
    // The lowest free number, like the kernel: a number that is used after its close hits another file.
    while (this.#open.has(file)) file += 1
    this.#open.set(file, { node, path })
    return file
  }

  #at(file: number): { node: FileNode; path: string } {
    const open = this.#open.get(file)
    if (open === undefined) throw errno('EBADF', String(file))
    return open
  }

  #file(path: string): FileNode {
    const node = this.#directory(dirname(path)).entries.get(basename(path))
    if (node === undefined) throw errno('ENOENT', path)
    if (node instanceof DirectoryNode) throw errno('EISDIR', path)
    return node
  }

  #directory(path: string): DirectoryNode {
    let node: TreeNode = this.root
    for (const name of path.split('/').filter((part) => part !== '')) {
      if (!(node instanceof DirectoryNode)) throw errno('ENOTDIR', path)
      const next: TreeNode | undefined = node.entries.get(name)
      if (next === undefined) throw errno('ENOENT', path)
      node = next
    }
    if (!(node instanceof DirectoryNode)) throw errno('ENOTDIR', path)
    return node
  }
}

/** A failed sync loses whole sectors; writes are torn within a sector only by a crash. */
const failedSync: Tearing = { allSubsetsOf: 4, tearEvery: Number.POSITIVE_INFINITY }

/** An error without a stack: making one would take most of the time of a search. */
export function errno(code: string, path: string): NodeJS.ErrnoException {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  const error = Object.assign(new Error(`${code}: ${path}`), { code, path })
  Error.stackTraceLimit = stackTraceLimit
  return error
}
