import { StintError } from '../../base/errors/stint-error.ts'
import { deliver } from '../../base/process/terminal.ts'
import { visibleAnswer } from '../../base/text/escape.ts'

/** Prints text, or bytes as they are. Returns false if the reader is gone: then a stream should end. */
export function print(content: string | Uint8Array): boolean {
  const written = deliver(1, typeof content === 'string' ? visibleAnswer(content) : content)
  if (written === 'full') throw new StintError('DISK_FULL', 'cannot write to stdout: no space left')
  return written === 'written'
}

const batchChars = 64 << 10

/**
 * Prints lines as they come, many in one write, or each at once if `atOnce` is set. Returns false if the
 * reader is gone. Signals are handled between two writes.
 */
export async function printLines(lines: AsyncIterable<string>, { atOnce = false } = {}): Promise<boolean> {
  let batch = ''
  for await (const line of lines) {
    batch += `${line}\n`
    if (!atOnce && batch.length < batchChars) continue
    if (!print(batch)) return false
    batch = ''
    await new Promise((resolve) => setImmediate(resolve))
  }
  return print(batch)
}
