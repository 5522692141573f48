import { createInterface } from 'node:readline'

/** Asks a person at the terminal. Ctrl-D is a no; Ctrl-C ends the command like any other. */
export async function askYesOrNo(question: string): Promise<boolean> {
  const prompt = createInterface({ input: process.stdin, output: process.stderr })
  // The terminal is in raw mode: its keys send no signals.
  prompt.on('SIGINT', () => process.kill(process.pid, 'SIGINT'))
  const answer = await new Promise<string>((resolve) => {
    prompt.on('close', () => resolve(''))
    prompt.question(`${question} [y/N] `, resolve)
  })
  prompt.close()
  return /^y(es)?$/i.test(answer.trim())
}
