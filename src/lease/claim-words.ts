import { formatDuration } from '../base/text/duration.ts'
import { visibleText } from '../base/text/escape.ts'
import type { Claim, ClaimMode, ClaimOrigin } from './claim.ts'
import { claimLiveness, type Force, type Observation, type SessionProcess } from './force.ts'

// The words in which refusals, status, the page and the tools of MCP speak of a claim.

/** Whose session it is, in a few words: "Claude Code in pts/3 (tmux %5), ada@box, ~/app: “tidy up”". */
export function originText(origin: ClaimOrigin | undefined, home: string = process.env.HOME ?? ''): string {
  if (origin === undefined) return ''
  const { agent = '', terminal, tmux_pane: pane, user, hostname, directory, prompt } = origin
  const screen = [terminal, pane && (terminal === undefined ? `tmux ${pane}` : `(tmux ${pane})`)]
  const where = screen.filter(Boolean).join(' ')
  const short =
    home.length > 1 && directory?.startsWith(`${home}/`) ? `~${directory.slice(home.length)}` : directory
  const parts = [
    [agent, where].filter(Boolean).join(' in '),
    [user, hostname].filter(Boolean).join('@'),
    short,
  ]
  const text = parts.filter(Boolean).join(', ')
  const all = prompt === undefined ? text : `${text}${text === '' ? '' : ': '}“${prompt}”`
  return visibleText(all, 300)
}

/** What a claim is on: "the whole workspace", or its paths. */
export function pathsText(paths: readonly string[], mode: ClaimMode = 'exclusive'): string {
  const what = paths.includes('**') ? 'the whole workspace' : visibleText(paths.join(' '), 200)
  return mode === 'shared' ? `${what}, shared` : what
}

/**
 * The process to name to people: the one that keeps the claim in force, or else the newest that an agent has
 * started for it, a server last.
 */
export function presentProcess(
  claim: Claim,
  force: Force,
  { work }: Observation,
): SessionProcess | undefined {
  // The processes of other programs are theirs to name: nobody looks for them at each refusal.
  if (force.process !== undefined || claim.origin?.agent === undefined) return force.process
  const processes = work(claim).filter(({ isSinceGrant }) => isSinceGrant)
  return processes.findLast(({ isServer }) => !isServer) ?? processes.at(-1)
}

/** What a session runs, or has left behind: "runs `npm test` (pid 4378)"; empty if no process is seen. */
export function workText(
  claim: Claim,
  force: Force,
  process: SessionProcess | undefined,
  observation: Observation,
): string {
  if (process === undefined) return ''
  const name = `\`${visibleText(process.command, 60).replaceAll('`', "'")}\` (pid ${process.pid})`
  if (!force.isLeftover) return `runs ${name}`
  const isDead = claimLiveness(claim, observation) === 'dead'
  return `${isDead ? 'its agent has died' : 'its turn has ended'}, but ${name} still runs`
}

/** A duration in seconds; less than one is "a moment". */
export const roughDuration = (ms: number): string =>
  ms < 1000 ? 'a moment' : formatDuration(Math.round(ms / 1000) * 1000)
