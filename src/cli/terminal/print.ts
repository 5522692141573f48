import { StintError } from '../../base/errors/stint-error.ts'
import { deliver } from '../../base/process/terminal.ts'
import { visibleAnswer, visibleLines } from '../../base/text/escape.ts'

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

/** Asks the user to confirm, unless `--yes` was given. Without a terminal to ask on, `--yes` is required. */
export async function confirm(yes: boolean, doing: string, question: string): Promise<void> {
  if (yes) return
  if (!process.stdin.isTTY)
    throw new StintError('ARG_ERROR', `${doing} needs --yes where there is no terminal to ask on`)
  if (await askYesOrNo(question)) return
  throw new StintError('CANCELLED', 'you answered no', { exit: 1, hint: 'Nothing was changed.' })
}

/** Asks on the terminal. Ctrl-D means no; Ctrl-C ends the command as usual. */
async function askYesOrNo(question: string): Promise<boolean> {
  const { createInterface } = await import('node:readline')
  const prompt = createInterface({ input: process.stdin, output: process.stderr })
  // Readline sets the terminal to raw mode, in which Ctrl-C sends no signal.
  prompt.on('SIGINT', () => {
    process.stdin.setRawMode?.(false)
    process.stderr.write('\n')
    process.kill(process.pid, 'SIGINT')
  })
  const answer = await new Promise<string>((resolve, reject) => {
    // Without it, a command that has read its signal would wait for the answer until its grace is over.
    process.once('SIGINT', () => reject(new StintError('CANCELLED', 'stopped by Ctrl-C')))
    // Ctrl-D leaves the cursor behind the question.
    const decline = (): void => {
      process.stderr.write('\n')
      resolve('')
    }
    prompt.once('close', decline)
    prompt.question(`${visibleLines(question)} [y/N] `, (text) => {
      prompt.off('close', decline)
      resolve(text)
    })
  })
  prompt.close()
  return /^y(es)?$/i.test(answer.trim())
}
