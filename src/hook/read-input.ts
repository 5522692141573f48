import { readSync } from 'node:fs'
import { parseObject } from '../base/text/fields.ts'
import { sleep } from '../base/process/clock.ts'
import { errorCode } from '../base/errors/stint-error.ts'

const stdin = 0

/** Far more than any event has; longer input is refused. */
const maxBytes = 64 << 20

/** Reads all of stdin, up to about `maxBytes`. */
export function readText(): string {
  const chunks: Buffer[] = []
  let length = 0
  for (let chunk = readChunk(); chunk.length > 0 && length <= maxBytes; chunk = readChunk()) {
    chunks.push(chunk)
    length += chunk.length
  }
  return joined(chunks, length)
}

/** Reads a JSON object from stdin, without waiting for its end: not every host closes it. */
export function readObject(): Record<string, unknown> | undefined {
  const chunks: Buffer[] = []
  let length = 0
  for (;;) {
    const chunk = readChunk()
    if (chunk.length === 0 || length > maxBytes) return undefined
    chunks.push(chunk)
    length += chunk.length
    const object = endsObject(chunk) ? parseObject(withoutMark(joined(chunks, length))) : undefined
    if (object !== undefined) return object
  }
}

/** Nearly always there is one chunk. */
const joined = ([first = Buffer.alloc(0), ...more]: readonly Buffer[], length: number): string =>
  (more.length === 0 ? first : Buffer.concat([first, ...more], length)).toString()

/** Reads a chunk; empty at the end, or if stdin is closed. */
function readChunk(): Buffer {
  const chunk = Buffer.allocUnsafe(1 << 16)
  for (;;) {
    try {
      return chunk.subarray(0, readSync(stdin, chunk))
    } catch (error) {
      // Another process has made stdin non-blocking, and has not written yet.
      if (errorCode(error) !== 'EAGAIN') return chunk.subarray(0, 0)
      sleep(1)
    }
  }
}

const [closingBrace, space] = [0x7d, 0x20]

/** True if the bytes end with a brace: only then is the JSON worth parsing. */
function endsObject(bytes: Buffer): boolean {
  let at = bytes.length - 1
  while (at >= 0 && (bytes[at] ?? 0) <= space) at -= 1
  return bytes[at] === closingBrace
}

/** Some editors and scripts put a byte order mark first. */
const withoutMark = (text: string): string => (text.startsWith('\uFEFF') ? text.slice(1) : text)
