import { read } from 'node:fs'
import { promisify } from 'node:util'

const readAt = promisify(read)

/** How much is read at once: searching it takes half a millisecond. */
const chunkBytes = 1 << 20
/** No record has a longer line; a file with one is not a log. */
const maxLineBytes = 4 << 20
const newline = 0x0a

/**
 * Reads an open file from its end to its beginning, as regions that begin with a line and end with one; only
 * what follows the last newline of the file is a part of a line. The next chunk is read in the thread pool
 * while the caller works on a region, which is valid until the next one. Its memory grows with the longest
 * line only.
 */
export async function* regionsBackwards(file: number, size: number): AsyncGenerator<Buffer> {
  const buffers: [Buffer, Buffer] = [Buffer.alloc(0), Buffer.alloc(0)]
  const readRegion = async (end: number, carry: Buffer, turn: 0 | 1): Promise<Buffer> => {
    const start = Math.max(0, end - chunkBytes)
    const length = end - start + carry.length
    if (buffers[turn].length < length) buffers[turn] = Buffer.allocUnsafe(length + (start > 0 ? 64 << 10 : 0))
    const region = buffers[turn].subarray(0, length)
    carry.copy(region, end - start)
    await fillFrom(file, region.subarray(0, end - start), start)
    return region
  }
  let end = size
  let next = readRegion(end, Buffer.alloc(0), 0)
  try {
    for (let turn: 0 | 1 = 1; end > 0; turn = turn === 0 ? 1 : 0) {
      const region = await next
      end = Math.max(0, end - chunkBytes)
      // The first line of the region may begin before it: the next region gets the rest of that line.
      const first = end === 0 ? 0 : region.indexOf(newline) + 1
      const carry = first > 0 ? region.subarray(0, first) : region
      if (end > 0) next = readRegion(end, carry.length > maxLineBytes ? Buffer.alloc(0) : carry, turn)
      if (end === 0 || first > 0) yield region.subarray(first)
    }
  } finally {
    // The caller closes the file: a read under way would then read from another file with the same number.
    await next.catch(() => {})
  }
}

/** Fills a buffer from a position of a file on. */
export async function fillFrom(file: number, into: Buffer, position: number): Promise<void> {
  for (let done = 0; done < into.length;) {
    const { bytesRead } = await readAt(file, into, done, into.length - done, position + done)
    // Another process has cut the file since its size was read: the missing bytes count as filling.
    if (bytesRead === 0) into.fill(newline, done)
    done = bytesRead === 0 ? into.length : done + bytesRead
  }
}
