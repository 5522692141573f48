import { spawnSync } from 'node:child_process'
import { StintError } from '../../primitives/stint-error.ts'

/** What git answers, without the line break; undefined if it fails. Variables that point it elsewhere are not passed on. */
export function askGit(directory: string, ...args: string[]): string | undefined {
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^GIT_(DIR|WORK_TREE|INDEX_FILE|PREFIX)$/.test(name)),
  )
  const { status, stdout, error } = spawnSync('git', ['-C', directory, ...args], {
    encoding: 'utf8',
    env: { ...env, LC_ALL: 'C' },
    stdio: ['ignore', 'pipe', 'ignore'],
    timeout: 60_000,
  })
  if (error !== undefined && 'code' in error && error.code === 'ENOENT')
    throw new StintError('COMMAND_NOT_FOUND', 'there is no git on PATH')
  return status === 0 ? stdout.replace(/\r?\n$/, '') : undefined
}
