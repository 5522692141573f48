import { readFileSync } from 'node:fs'
import { codedError, errorCode, StintError } from '../../base/errors/stint-error.ts'

/** The value of `--data`: JSON itself, `@-` for stdin, `@FILE` for a file. */
export async function readData(given: string | undefined): Promise<unknown> {
  if (given === undefined) return null
  const text = given === '@-' ? await readStdin() : given.startsWith('@') ? readText(given.slice(1)) : given
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    // Not quoted, as the parser's own message does: it may be long, and it may be a secret. Nor its cause, for the same reason.
    const [where = ''] = /at position \d+/.exec((error as Error).message) ?? []
    throw new StintError('ARG_ERROR', `--data is not JSON ${where}`.trimEnd(), {
      hint: `A text needs its quotes: --data '"text"'.`,
    })
  }
}

async function readStdin(): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of process.stdin) pieces.push(piece as Buffer)
  return Buffer.concat(pieces).toString()
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const errno = errorCode(error)
    if (errno === 'ENOENT' || errno === 'EISDIR' || errno === 'ENOTDIR')
      throw new StintError('NOT_FOUND', `there is no file ${path}`, { cause: error })
    throw codedError(error, `read ${path}`)
  }
}
