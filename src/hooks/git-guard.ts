import { resolve } from 'node:path'
import {
  areKin,
  type Claim,
  type Descent,
  findAncestors,
  isInForce,
  type LeaseStore,
  type Observation,
  WorkspaceClaims,
  workspaceOf,
} from '../lease/index.ts'
import { gitOnlyReads } from './reading/only-reads.ts'
import { createsBranch, type GitCommand, gitDirectories } from './git-command.ts'
import { allowed, gitRefusal, type Verdict } from './verdict.ts'

/** The hook that git runs, with its arguments, or `shim` for a command before git itself starts. */
interface GitCall {
  hook: string
  args: readonly string[]
  /** Reads stdin, on which `reference-transaction` gets its lines; called only if they matter. */
  lines: () => string
  /** The command of git that runs the hook, or that the shim is about to start. */
  command: () => GitCommand
}

/** The process that runs git. */
interface GitCaller {
  env: NodeJS.ProcessEnv
  descent: () => Descent
  cwd: string
  store: LeaseStore
}

/** Refuses a command of git while another session holds the whole workspace. Claims nothing itself. */
export async function guardGit(call: GitCall, caller: GitCaller): Promise<Verdict> {
  if (caller.env.STINT_BYPASS === '1') return allowed
  const change = guardedChange(call)
  if (change === undefined) return allowed
  const { cwd, env } = caller
  const directories =
    call.hook === 'shim' ? gitDirectories(call.command(), cwd, env) : [hookDirectory(cwd, env)]
  for (const directory of directories) {
    const claims = WorkspaceClaims.open(caller.store, { workspace: workspaceOf(directory) })
    const { record, observation } = await claims.read()
    const by = findBlocker(
      record.claims.filter((claim) => claims.isHere(claim)),
      observation,
      caller,
    )
    if (by === undefined) continue
    const when = call.hook === 'post-checkout' ? 'done' : change
    return { block: true, reason: gitRefusal(by, observation, when) }
  }
  return allowed
}

/** The claim of another party on the whole workspace. */
function findBlocker(
  claims: readonly Claim[],
  observation: Observation,
  caller: Pick<GitCaller, 'descent'>,
): Claim | undefined {
  const isWhole = ({ paths }: Claim): boolean => paths.some((path) => path === '**' || path.startsWith('/'))
  const held = claims.filter((claim) => isWhole(claim) && isInForce(claim, observation))
  if (held.length === 0) return undefined
  // git has no session of its own: it acts for the nearest one above it.
  const [session_id = '', ...ancestors] = findAncestors(claims, caller) ?? []
  return held.find((claim) => !areKin(claim, { session_id, ancestors }))
}

/** The directory of a hook. `git worktree add` runs hooks here for the tree that it makes elsewhere. */
const hookDirectory = (cwd: string, { GIT_DIR = '', GIT_WORK_TREE = '' }: NodeJS.ProcessEnv): string =>
  GIT_DIR.includes('/worktrees/') ? resolve(cwd, GIT_WORK_TREE) : cwd

/** Whether git may have changed files or the index by the time it runs its hook. */
type GuardedChange = 'unbegun' | 'begun'

/** How far git is with a guarded change; undefined if the call changes nothing that is guarded. */
export function guardedChange(call: GitCall): GuardedChange | undefined {
  const { hook, args, lines, command } = call
  switch (hook) {
    case 'shim':
      return gitOnlyReads(args) ? undefined : 'unbegun'
    case 'pre-commit':
    case 'pre-push':
      return 'unbegun'
    // A rebase may have made an autostash.
    case 'pre-rebase':
    case 'pre-merge-commit':
      return 'begun'
    case 'post-checkout':
      // `git checkout` without arguments only shows what has changed.
      return command().name === 'checkout' && command().args.length === 0 ? undefined : 'begun'
    case 'reference-transaction':
      return args[0] === 'prepared' ? changeOfRefs(lines(), command) : undefined
    default:
      return undefined
  }
}

/** Commands that write files, the index or both before they change a ref. */
const writesFilesFirst = (name: string): boolean =>
  // The command line cannot be seen everywhere.
  name === '' || /^(?:reset|checkout|switch|merge|pull|rebase|cherry-pick|revert|am)$/.test(name)

/** The change of the first guarded ref: `HEAD`, a branch, the stash, or `ORIG_HEAD` before a merge. */
function changeOfRefs(lines: string, command: () => GitCommand): GuardedChange | undefined {
  for (const line of lines.split('\n')) {
    const [before = '', after = '', ref = ''] = line.split(' ')
    // git does not tell what a ref that it deletes was before.
    if (before === after && !/^0+$/.test(after)) continue
    const { name, args } = command()
    // Only packs the refs as they are.
    if (name === 'pack-refs') continue
    // `git worktree add` starts `git branch` as well.
    if (/^0+$/.test(before) && createsBranch(command())) continue
    if (ref === 'HEAD' || ref.startsWith('refs/heads/')) return writesFilesFirst(name) ? 'begun' : 'unbegun'
    // `pop` and `drop` have already removed the entry of the stash when they delete the ref behind it.
    if (ref === 'refs/stash' && args[0] !== 'pop' && args[0] !== 'drop') return 'unbegun'
    // A merge and `am` write ORIG_HEAD before they change a file; a reset and a rebase do so after.
    if (ref === 'ORIG_HEAD' && name === 'merge') return 'unbegun'
    if (ref === 'ORIG_HEAD' && name === 'am') return 'begun'
  }
  return undefined
}
