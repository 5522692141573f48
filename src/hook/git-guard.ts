import { type Claim, findWorkspace, isInForce, type Register, WorkspaceClaims } from '../lease/index.ts'
import type { Ancestor } from './agent-process.ts'
import { hosts } from './hosts.ts'
import { gitRefusal, pass, type Verdict } from './verdict.ts'

/** The hook that git runs, its first argument, and for `reference-transaction` the lines on stdin. */
export interface GitCall {
  hook: string | undefined
  state: string | undefined
  /** Reads stdin; called only if the lines matter. */
  lines: () => string
}

/** The process that runs git. */
export interface GitCaller {
  env: NodeJS.ProcessEnv
  ancestors: readonly Ancestor[]
  cwd: string
  register: Register
}

/**
 * Refuses a commit or a change of a branch while another session holds the whole workspace. An agent's shell
 * can bypass the hooks of tools, but not those of git. Claims nothing itself.
 */
export function guardGit(call: GitCall, caller: GitCaller): Verdict {
  if (caller.env.STINT_BYPASS === '1' || !changesBranch(call)) return pass
  const workspace = findWorkspace(caller.cwd)
  const { record, observation } = WorkspaceClaims.open(caller.register, { workspace }).readSync()
  const by = record.claims.find(
    (claim) => claim.paths.includes('**') && isInForce(claim, observation) && !belongsTo(claim, caller),
  )
  return by === undefined ? pass : { block: true, reason: gitRefusal(workspace.path, by, observation) }
}

/** True if the hook can still refuse, and `HEAD` or a branch changes. */
export function changesBranch({ hook, state, lines }: GitCall): boolean {
  if (hook === 'pre-commit') return true
  if (hook !== 'reference-transaction' || state !== 'prepared') return false
  return lines()
    .split('\n')
    .some((line) => {
      const [before, after, ref = ''] = line.split(' ')
      return before !== after && (ref === 'HEAD' || ref.startsWith('refs/heads/'))
    })
}

/** Variables in which agents pass their session to their children. */
const sessionVariables = [
  'STINT_SESSION_ID',
  ...Object.values(hosts).flatMap(({ sessionVariable }) => sessionVariable ?? []),
]

/** True if a variable names the claim's session, or a holder is an ancestor of git. */
function belongsTo(claim: Claim, { env, ancestors }: Pick<GitCaller, 'env' | 'ancestors'>): boolean {
  if (sessionVariables.some((name) => env[name] === claim.session_id)) return true
  return claim.holders.some((holder) =>
    ancestors.some(({ pid, started }) => pid === holder.pid && started === holder.started),
  )
}
