/** A change that a program made to a file. */
export type FileChange = { kind: 'write'; at: number; bytes: Buffer } | { kind: 'truncate'; length: number }

/**
 * A file as programs see it, and as the disk may have it. Buffers are never changed in place: states share
 * them.
 */
export class FileNode {
  content: Buffer
  /** The possible contents on disk: more than one only after a failed sync. */
  durable: Buffer[]
  /** The changes since the last sync. */
  pending: FileChange[] = []

  constructor(content: Buffer = Buffer.alloc(0), durable: Buffer[] = [Buffer.alloc(0)]) {
    this.content = content
    this.durable = durable
  }

  change(change: FileChange): void {
    this.content = applied(this.content, change)
    this.pending.push(change)
  }

  sync(): void {
    this.durable = distinct(this.durable.map((content) => this.pending.reduce(applied, content)))
    this.pending = []
  }

  /**
   * The kernel drops the pages it could not write, reports the error once, and regards the file as synced.
   */
  failSync(images: Iterable<Buffer>): void {
    this.durable = distinct([...images])
    this.pending = []
  }
}

/** A directory: its names as programs see them, as they are on disk, and the changes of each name since. */
export class DirectoryNode {
  readonly entries: Map<string, TreeNode>
  durable: Map<string, TreeNode>
  readonly pending = new Map<string, (TreeNode | undefined)[]>()

  constructor(entries: Map<string, TreeNode> = new Map()) {
    this.entries = entries
    this.durable = new Map(entries)
  }

  set(name: string, node: TreeNode | undefined): void {
    const meanings = this.pending.get(name) ?? []
    meanings.push(node)
    this.pending.set(name, meanings)
    if (node === undefined) this.entries.delete(name)
    else this.entries.set(name, node)
  }

  sync(): void {
    this.durable = new Map(this.entries)
    this.pending.clear()
  }
}

export type TreeNode = FileNode | DirectoryNode

/** The contents after a change. A gap behind the old end of the file is filled with zeros. */
export function applied(content: Buffer, change: FileChange): Buffer {
  if (change.kind === 'truncate') return resized(content, change.length)
  const { at, bytes } = change
  const next = Buffer.alloc(Math.max(content.length, at + bytes.length))
  content.copy(next)
  bytes.copy(next, at)
  return next
}

export function resized(content: Buffer, length: number): Buffer {
  if (length <= content.length) return content.subarray(0, length)
  return Buffer.concat([content, Buffer.alloc(length - content.length)])
}

export const distinct = (contents: readonly Buffer[]): Buffer[] => [
  ...new Map(contents.map((content) => [content.toString('latin1'), content])).values(),
]
