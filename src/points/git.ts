import { execFile } from 'node:child_process'
import { StintError } from '../base/errors/stint-error.ts'
import { visibleText } from '../base/text/escape.ts'

export interface GitOptions {
  cwd?: string
  env?: NodeJS.ProcessEnv
  input?: string | Uint8Array
  /** When git is told to stop, in milliseconds on the clock of `Date.now`. */
  deadline?: number
}

/** The variables of this process without git's own: an inherited `GIT_INDEX_FILE` would redirect calls. */
export function environmentWithoutGit(): NodeJS.ProcessEnv {
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_'))
  return { ...Object.fromEntries(others), LC_ALL: 'C', GIT_TERMINAL_PROMPT: '0' }
}

/** Runs git, whatever its exit code is. Throws if git cannot be started, or runs out of time. */
export function runGit(
  args: readonly string[],
  { cwd, env = environmentWithoutGit(), input = '', deadline }: GitOptions = {},
): Promise<{ code: number; stdout: Buffer; stderr: string }> {
  const signal = deadline === undefined ? undefined : AbortSignal.timeout(Math.max(0, deadline - Date.now()))
  const spawnOptions = { cwd, env, signal, encoding: 'buffer', maxBuffer: Number.POSITIVE_INFINITY } as const
  return new Promise((resolve, reject) => {
    const child = execFile('git', args, spawnOptions, (error, stdout, stderr) => {
      // At the deadline git gets a SIGTERM, removes its lock files, and is not waited for.
      child.unref()
      const code = error === null ? 0 : (error.code as unknown)
      if (typeof code === 'number') resolve({ code, stdout, stderr: stderr.toString() })
      else if (error?.name === 'AbortError')
        reject(new StintError('POINT_FAILED', `git ${args[0]} took too long`, lateDetail))
      else if (code === 'ENOENT') reject(new StintError('COMMAND_NOT_FOUND', 'there is no git on PATH'))
      else reject(gitFailure(args, stderr.toString()))
    })
    // Git may end without reading its input, which closes the pipe.
    child.stdin?.on('error', () => {})
    child.stdin?.end(input)
  })
}

/** Marks an error that more time would have avoided. */
export const lateDetail = { detail: 'late=true' }

/** The error of a git command that failed. */
export function gitFailure([command]: readonly string[], stderr: string): StintError {
  if (/No space left|Out of diskspace/.test(stderr))
    return new StintError('DISK_FULL', `git ${command}: the disk is full`)
  const reason = stderr.trim().split('\n').at(-1) || 'no reason given'
  return new StintError('POINT_FAILED', `git ${command} failed: ${visibleText(reason, 300)}`)
}

/** Runs git, and returns what it printed; throws if it failed. */
export async function gitOutput(args: readonly string[], options: GitOptions = {}): Promise<Buffer> {
  const { code, stdout, stderr } = await runGit(args, options)
  if (code !== 0) throw gitFailure(args, stderr)
  return stdout
}

/** The strings that git separated by NUL, in Latin-1: names of files are bytes, not always UTF-8. */
export const splitNul = (output: Buffer): string[] => output.toString('latin1').split('\0').slice(0, -1)

/** Joins Latin-1 strings for the stdin of a git command with `-z`. */
export const joinNul = (parts: readonly string[]): Buffer =>
  Buffer.from(parts.map((part) => `${part}\0`).join(''), 'latin1')
