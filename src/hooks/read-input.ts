import { readFileSync, readSync } from 'node:fs'
import { parseObject } from '../base/text/fields.ts'
import { sleep } from '../base/process/clock.ts'
import { errorCode } from '../base/errors/stint-error.ts'

const stdin = 0

/** As much as a pipe holds, and as the script reads. */
const chunkBytes = 1 << 16

/** Far more than any event has; longer input is refused. */
const maxBytes = 64 << 20

/** The variable in which `stint-hook.sh` passes on what it has read of the event. */
const inputVariable = 'STINT_HOOK_INPUT'

/** Takes what the script has read out of the environment; undefined if no script has started this process. */
export function takeInput(env: NodeJS.ProcessEnv): Buffer | undefined {
  const text = env[inputVariable]
  delete env[inputVariable]
  // The script may have read half of a character, which the variable cannot show.
  if (text === undefined || !text.includes('\uFFFD')) return text === undefined ? text : Buffer.from(text)
  const environment = readFileSync('/proc/self/environ')
  const start = environment.indexOf(`\0${inputVariable}=`) + inputVariable.length + 2
  return environment.subarray(start, environment.indexOf(0, start))
}

/** How often an event that comes in several chunks is parsed before its end is known. */
const maxAttempts = 8

/** Reads all of stdin, up to about `maxBytes`. */
export function readText(): string {
  const chunks: Buffer[] = []
  let length = 0
  for (let chunk = readChunk(); chunk.length > 0 && length <= maxBytes; chunk = readChunk()) {
    chunks.push(chunk)
    length += chunk.length
  }
  return joinChunks(chunks, length)
}

/**
 * Reads a JSON object from stdin, after what was read of it `before`, without waiting for its end: not every
 * host closes it. If stdin contains anything else, returns its text.
 */
export function readObject(before: Buffer = readChunk()): Record<string, unknown> | string {
  const chunks: Buffer[] = []
  let length = 0
  let attempts = 0
  for (let chunk = before; chunk.length > 0 && length <= maxBytes; chunk = readChunk()) {
    chunks.push(chunk)
    length += chunk.length
    // Nearly always, the first chunk is all of the object. Some end like one in the middle of a string.
    if (!isEnd(chunk.at(-1)) || attempts++ >= maxAttempts) continue
    const object = parseObject(withoutMark(joinChunks(chunks, length)))
    if (object !== undefined) return object
  }
  const text = joinChunks(chunks, length)
  return parseObject(withoutMark(text)) ?? text
}

/** Nearly always there is one chunk. */
const joinChunks = ([first = Buffer.alloc(0), ...more]: readonly Buffer[], length: number): string =>
  (more.length === 0 ? first : Buffer.concat([first, ...more], length)).toString()

/** Reads a chunk; empty at the end, or if stdin is closed. */
function readChunk(): Buffer {
  const chunk = Buffer.allocUnsafeSlow(chunkBytes)
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

const [newline, closingBrace] = [0x0a, 0x7d]

const isEnd = (byte: number | undefined): boolean => byte === closingBrace || byte === newline

/** Some editors and scripts put a byte order mark first. */
const withoutMark = (text: string): string => (text.startsWith('\uFEFF') ? text.slice(1) : text)
