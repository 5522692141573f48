import { type Claim, findWorkspace, isInForce, type Register, WorkspaceClaims } from '../lease/index.ts'
import type { Ancestor } from './agent-process.ts'
import { gitRefusal, pass, type Verdict } from './verdict.ts'

/** What git says: which hook, its arguments, and for `reference-transaction` the lines on stdin. */
export interface GitCall {
  hook: string | undefined
  state: string | undefined
  /** Read only if it matters. */
  lines: () => string
}

/** Who runs git. */
export interface GitCaller {
  env: NodeJS.ProcessEnv
  ancestors: readonly Ancestor[]
  cwd: string
  register: Register
}

/**
 * A shell can go round any tool's hook; what it does with git comes by here. Refuses a commit, or a move of a
 * branch, while another session holds the whole workspace. Claims nothing itself.
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

/** Only what is prepared can still be refused; only `HEAD` and branches are somebody's work. */
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

/** Where agents put their session for what they start. */
const sessionVariables = ['STINT_SESSION_ID', 'CLAUDE_CODE_SESSION_ID', 'GEMINI_SESSION_ID']

/**
 * A git process is the holder's if it says so, or if a holder started it. A person at a terminal is another
 * session.
 */
function belongsTo(claim: Claim, { env, ancestors }: Pick<GitCaller, 'env' | 'ancestors'>): boolean {
  if (sessionVariables.some((name) => env[name] === claim.session_id)) return true
  return claim.holders.some((holder) =>
    ancestors.some(({ pid, started }) => pid === holder.pid && started === holder.started),
  )
}
