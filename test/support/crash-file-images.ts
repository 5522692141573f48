import { applied, distinct, type FileChange, type FileNode, resized } from './crash-nodes.ts'

/** How many of the possible contents of a file to try. */
export interface Tearing {
  /**
   * With up to this many pieces, every subset of them is tried. With more: each piece alone, all but one, and
   * all before or after one.
   */
  allSubsetsOf: number
  /** The last write is torn at multiples of this many bytes; 1 for every byte. */
  tearEvery: number
}

const sectorBytes = 512
const newline = 0x0a

/**
 * The contents that a crash may leave of a file: first without the pending changes, last with all of them.
 */
export function fileImages(file: FileNode, tearing: Tearing): Buffer[] {
  return distinct(file.durable.flatMap((content) => imagesOn(content, file.pending, tearing)))
}

function imagesOn(durable: Buffer, pending: readonly FileChange[], tearing: Tearing): Buffer[] {
  if (pending.length === 0) return [durable]
  const pieces = pending.flatMap(piecesOf)
  const length = largest(durable, pending)
  const lastCut = pending.findLastIndex(({ kind }) => kind === 'truncate')
  const since = largest(Buffer.alloc(0), pending.slice(lastCut))
  const images = subsets(pieces, tearing.allSubsetsOf).flatMap((subset) =>
    grownOrNot(
      subset.reduce(applied, durable),
      subset.some(({ kind }) => kind === 'truncate') ? since : length,
    ),
  )
  const all = pending.reduce(applied, durable)
  const others = [...images, ...torn(durable, pending, length, tearing.tearEvery)]
  return [durable, ...others.filter((image) => !image.equals(all)), all]
}

/** The size may have reached the disk before the data has. */
const grownOrNot = (content: Buffer, length: number): Buffer[] =>
  content.length < length ? [content, resized(content, length)] : [content]

/** The largest size that the file has had. */
function largest(durable: Buffer, pending: readonly FileChange[]): number {
  let [content, length] = [durable, durable.length]
  for (const change of pending) {
    content = applied(content, change)
    length = Math.max(length, content.length)
  }
  return length
}

/** Splits a change into pieces that reach the disk whole or not at all: sectors, and runs of filling. */
function piecesOf(change: FileChange): FileChange[] {
  if (change.kind === 'truncate') return [change]
  const { at, bytes } = change
  const pieces: FileChange[] = []
  for (let from = 0; from < bytes.length;) {
    let to = Math.min(bytes.length, from + sectorBytes - ((at + from) % sectorBytes))
    if (isFilling(bytes.subarray(from, to)))
      while (to < bytes.length && isFilling(bytes.subarray(to, to + sectorBytes))) to += sectorBytes
    pieces.push({ kind: 'write', at: at + from, bytes: bytes.subarray(from, to) })
    from = to
  }
  return pieces
}

const isFilling = (bytes: Buffer): boolean => bytes.every((byte) => byte === newline)

function subsets<T>(items: readonly T[], allOf: number): T[][] {
  if (items.length <= allOf)
    return Array.from({ length: 2 ** items.length }, (_, bits) => items.filter((_, i) => (bits >> i) & 1))
  const some = items.flatMap((item, i) => [
    [item],
    items.filter((_, j) => j !== i),
    items.slice(0, i),
    items.slice(i),
  ])
  return [[], [...items], ...some]
}

/**
 * The contents with the last write that is more than filling cut off at its end or its start, and all writes
 * before it.
 */
function torn(durable: Buffer, pending: readonly FileChange[], length: number, every: number): Buffer[] {
  const last = pending.findLastIndex((change) => change.kind === 'write' && !isFilling(change.bytes))
  const change = pending[last]
  if (change?.kind !== 'write') return []
  const before = pending.slice(0, last).reduce(applied, durable)
  const images: Buffer[] = []
  for (let cut = 1; cut < change.bytes.length; cut += every) {
    const head: FileChange = { ...change, bytes: change.bytes.subarray(0, cut) }
    const tail: FileChange = { ...change, at: change.at + cut, bytes: change.bytes.subarray(cut) }
    images.push(...grownOrNot(applied(before, head), length), applied(before, tail))
  }
  return images
}
