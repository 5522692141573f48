import { homedir } from 'node:os'
import { join } from 'node:path'
import { ifPossible } from '../base/errors/if-possible.ts'
import { listIfReadable, lstatIfExists } from '../base/fs/exists.ts'
import { isWithin } from '../base/fs/paths.ts'
import { readSmallFile } from '../base/fs/regular-file.ts'
import type { ProcessTable } from '../base/process/process-table.ts'
import { runProgram } from '../base/process/run-program.ts'
import { isRecord, parseObject } from '../base/text/fields.ts'
import { agentHome, type AgentName } from '../hooks/index.ts'

/** A worktree that an agent has made. */
export interface AgentWorktree {
  agent: AgentName
  path: string
  /**
   * `alive`: a process works in it, or a session holds it. `changed`: it has changes, or commits that are on
   * no branch. `clean`: everything in it is on a branch. `unknown`: git did not answer in time.
   */
  state: 'alive' | 'changed' | 'clean' | 'unknown'
}

/**
 * Finds the worktrees that agents have made in these workspaces, and in those that Claude Code has worked in.
 * `held` are the directories that sessions hold; git has `withinMs` for all questions together, and may not
 * refresh the user's index.
 */
export async function findWorktrees(
  table: ProcessTable,
  { workspaces, held }: { workspaces: readonly string[]; held: readonly string[] },
  withinMs: number,
): Promise<AgentWorktree[]> {
  const directories = table.processes.map(({ pid }) => table.directoryOf(pid) ?? '')
  const isAlive = (path: string): boolean =>
    [...directories, ...held].some((directory) => isWithin(directory, path))
  const worktrees = placesOf([...new Set([...workspaces, ...claudeProjects()])])
  const signal = AbortSignal.timeout(withinMs)
  return await Promise.all(
    worktrees.map(async (worktree) => ({
      ...worktree,
      state: isAlive(worktree.path) ? 'alive' : await askState(worktree.path, signal),
    })),
  )
}

/** The directories in which Claude Code was started. */
function claudeProjects(): string[] {
  const directory = process.env.CLAUDE_CONFIG_DIR ? agentHome('claude') : homedir()
  const { projects } = parseObject(readSmallFile(join(directory, '.claude.json')) ?? '') ?? {}
  return isRecord(projects) ? Object.keys(projects) : []
}

/** Every worktree in the places that agents use: a directory whose `.git` is a file. */
function placesOf(workspaces: readonly string[]): Omit<AgentWorktree, 'state'>[] {
  const codex = join(agentHome('codex'), 'worktrees')
  const parents: [AgentName, string][] = [
    ...workspaces.flatMap((root): [AgentName, string][] => [
      ['claude', join(root, '.claude/worktrees')],
      ['copilot', `${root}.worktrees`],
    ]),
    ...listIfReadable(codex).map((name): [AgentName, string] => ['codex', join(codex, name)]),
  ]
  const found = parents.flatMap(([agent, parent]) =>
    listIfReadable(parent).map((name) => ({ agent, path: join(parent, name) })),
  )
  return found.filter(({ path }) => ifPossible(() => lstatIfExists(join(path, '.git'))?.isFile()) === true)
}

async function askState(path: string, signal: AbortSignal): Promise<AgentWorktree['state']> {
  const status = await askGitQuietly(path, ['status', '--porcelain=v2', '--branch'], signal)
  if (status === undefined) return 'unknown'
  const lines = status.split('\n').filter((line) => line !== '')
  if (lines.some((line) => !line.startsWith('# '))) return 'changed'
  if (!lines.includes('# branch.head (detached)')) return 'clean'
  const [, commit = ''] = /^# branch\.oid (\w+)$/m.exec(status) ?? []
  const branches = await askGitQuietly(path, ['for-each-ref', '--count=1', '--contains', commit], signal)
  if (branches === undefined) return 'unknown'
  return branches === '' ? 'changed' : 'clean'
}

/** What git prints; undefined if it fails or takes too long. Takes no lock, so it writes no index. */
async function askGitQuietly(
  cwd: string,
  args: readonly string[],
  signal: AbortSignal,
): Promise<string | undefined> {
  if (signal.aborted) return undefined
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_')))
  const { code, stdout } = await runProgram('git', ['--no-optional-locks', ...args], { cwd, env, signal })
  return code === 0 ? stdout : undefined
}
