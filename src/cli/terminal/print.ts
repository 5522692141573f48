import { deliver } from '../../base/process/write-output.ts'
import { StintError } from '../../base/errors/stint-error.ts'

/** Prints to stdout. False if its reader is gone: then a stream ends. */
export function print(content: string | Uint8Array): boolean {
  const written = deliver(1, content)
  if (written === 'full') throw new StintError('DISK_FULL', 'cannot write to stdout: no space left')
  return written === 'written'
}

const batchBytes = 64 << 10

/**
 * Prints lines as they come, many in one write; false if their reader is gone. With `atOnce` no line waits for others.
 * Between two writes the process hears signals.
 */
export async function printLines(lines: AsyncIterable<string>, { atOnce = false } = {}): Promise<boolean> {
  let held = ''
  for await (const line of lines) {
    held += `${line}\n`
    if (!atOnce && held.length < batchBytes) continue
    if (!print(held)) return false
    held = ''
    await new Promise((resolve) => setImmediate(resolve))
  }
  return print(held)
}
