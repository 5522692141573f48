import { spawnSync } from 'node:child_process'
import { errorCode, StintError } from '../errors/stint-error.ts'

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
