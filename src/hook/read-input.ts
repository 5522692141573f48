import { readSync } from 'node:fs'
import { sleep } from '../primitives/sleep.ts'
import { errnoOf } from '../primitives/stint-error.ts'

/** More than any tool call has; who sends more is not understood. */
const maxBytes = 64 << 20

/** Everything on stdin; cut off where it is too much. */
export function readText(fd = 0): string {
  const chunks: Buffer[] = []
  let length = 0
  for (let chunk = readChunk(fd); chunk.length > 0 && length <= maxBytes; chunk = readChunk(fd)) {
    chunks.push(chunk)
    length += chunk.length
  }
  return textOf(chunks, length)
}

/** The JSON object on stdin, to its own end: not every host closes it. Undefined for anything else, or nothing. */
export function readObject(fd = 0): Record<string, unknown> | undefined {
  const chunks: Buffer[] = []
  let length = 0
  for (;;) {
    const chunk = readChunk(fd)
    if (chunk.length === 0 || length > maxBytes) return undefined
    chunks.push(chunk)
    length += chunk.length
    const object = endsObject(chunk) ? parse(textOf(chunks, length)) : undefined
    if (object !== undefined) return object
  }
}

/** Nearly always there is one. */
const textOf = ([first = Buffer.alloc(0), ...more]: readonly Buffer[], length: number): string =>
  (more.length === 0 ? first : Buffer.concat([first, ...more], length)).toString()

/** Empty at the end, or if there is no stdin at all. */
function readChunk(fd: number): Buffer {
  const chunk = Buffer.allocUnsafe(1 << 16)
  for (;;) {
    try {
      return chunk.subarray(0, readSync(fd, chunk))
    } catch (error) {
      // Somebody has made it non-blocking, and has not written yet.
      if (errnoOf(error) !== 'EAGAIN') return chunk.subarray(0, 0)
      sleep(1)
    }
  }
}

const [closingBrace, space] = [0x7d, 0x20]

/** Only then is it worth a try to parse what there is. */
function endsObject(bytes: Buffer): boolean {
  let at = bytes.length - 1
  while (at >= 0 && (bytes[at] ?? 0) <= space) at -= 1
  return bytes[at] === closingBrace
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text.startsWith('\uFEFF') ? text.slice(1) : text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
