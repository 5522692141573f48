import { execFile, spawnSync } from 'node:child_process'
import { errorCode, StintError } from '../errors/stint-error.ts'

/** The end of a program; the code is null if it could not be started, or a signal ended it. */
export interface ProgramExit {
  code: number | null
  stdout: string
  stderr: string
}

interface ProgramOptions {
  cwd?: string
  env: NodeJS.ProcessEnv
  /** The whole of its stdin, which is empty otherwise. */
  input?: string
  /** Milliseconds after which it is killed. */
  timeoutMs?: number
  /** Kills it. */
  signal?: AbortSignal
}

/** Runs a program to its end while the event loop goes on, so that a signal to this process is heard. */
export function runProgram(
  program: string,
  args: readonly string[],
  { cwd, env, input = '', timeoutMs: timeout, signal }: ProgramOptions,
): Promise<ProgramExit> {
  return new Promise((resolve) => {
    const options = { cwd, env, timeout, signal, killSignal: 'SIGKILL' } as const
    const child = execFile(program, args, options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : null
      resolve({ code, stdout, stderr })
    })
    // A program that ends without reading its input closes the pipe.
    child.stdin?.on('error', () => {})
    child.stdin?.end(input)
  })
}

/** Variables that point git at a repository. Git sets them for its hooks; they would override `-C`. */
const pointers = new Set(
  'GIT_DIR GIT_WORK_TREE GIT_COMMON_DIR GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_PREFIX'.split(
    ' ',
  ),
)

const patienceMs = 30_000

/** Runs git in a directory; returns its output without the last line break, or why git refuses. */
export function askGit(directory: string, ...args: string[]): { text: string } | { refusal: string } {
  const env = Object.entries(process.env).filter(([name]) => !pointers.has(name))
  const { status, stdout, stderr, error } = spawnSync('git', ['-C', directory, ...args], {
    encoding: 'utf8',
    env: { ...Object.fromEntries(env), LC_ALL: 'C' },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: patienceMs,
  })
  if (errorCode(error) === 'ENOENT') throw new StintError('COMMAND_NOT_FOUND', 'there is no git on PATH')
  if (errorCode(error) === 'ETIMEDOUT')
    throw new StintError(
      'TIMEOUT',
      `git did not answer within ${patienceMs / 1000} seconds in ${directory}`,
      {
        hint: `Find out what \`git ${args[0]}\` waits for there.`,
      },
    )
  if (status === 0) return { text: stdout.replace(/\r?\n$/, '') }
  return { refusal: stderr.trim().split('\n')[0] || 'no reason given' }
}
