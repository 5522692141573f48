import { userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { ensureHomeDirectory, stintHome } from '../../base/fs/home.ts'
import { runProgram } from '../../base/process/run-program.ts'
import { shellWord } from '../../base/text/escape.ts'
import type { Change, HookWriting } from '../change.ts'
import type { Problem } from '../inspect.ts'
import { type OwnFile, removeOwnFile, writeOwnFile } from '../own-file.ts'
import type { ShimTarget } from '../target.ts'
import { isOurShim, shimDirectory, shimText } from './shim-text.ts'

/** The path of the shim of this user: a program named `git`, in a directory of its own for PATH. */
export const shimPath = (): string => join(stintHome(), shimDirectory, 'git')

const shimFile = ({ agent, place, path }: ShimTarget): OwnFile => ({
  agent,
  place,
  path,
  isOurs: isOurShim,
  mode: 0o700,
})

export async function installShim(
  target: ShimTarget,
  { program, dryRun, choices }: HookWriting,
): Promise<Change> {
  if (!dryRun) for (const path of [stintHome(), dirname(target.path)]) ensureHomeDirectory(path)
  return writeOwnFile(shimFile(target), { text: () => shimText(program, choices()), dryRun })
}

export const uninstallShim = (target: ShimTarget, dryRun: boolean): Promise<Change> =>
  removeOwnFile(shimFile(target), { dryRun, keep: stintHome() })

/** The line that puts the shim before git. */
export const pathLine = (path: string): string => `export PATH=${shellWord(dirname(path))}:"$PATH"`

/**
 * Asks a login shell of this user which git it runs; describes what is wrong if it is not the shim. The shell
 * starts with a plain PATH, as at a login: this process may have inherited another one.
 */
export async function describeLoginShell(
  path: string,
  env: NodeJS.ProcessEnv = process.env,
): Promise<Problem | undefined> {
  const shell = env.SHELL || userInfo().shell || '/bin/sh'
  const { HOME, USER, LOGNAME, LANG, STINT_HOME } = env
  const { stdout } = await runProgram(shell, ['-lc', 'command -v git'], {
    env: { HOME, USER, LOGNAME, LANG, STINT_HOME, SHELL: shell, PATH: '/usr/local/bin:/usr/bin:/bin' },
    timeoutMs: 10_000,
  })
  // A profile may print lines of its own first.
  const found = stdout.trimEnd().split('\n').at(-1) || 'no git'
  if (found === path) return undefined
  return {
    problem: `a login shell (${shell}) runs ${found} instead`,
    fix: `add this line to its profile: ${pathLine(path)}`,
  }
}
