import { ageOf, blockReason, type Claim, claimStatus, type Observation, remainingMs } from '../lease/index.ts'
import { formatDuration } from '../base/text/duration.ts'
import { visibleText } from '../base/text/escape.ts'

/**
 * Why a tool call is refused, so that a model can act on it: who holds the workspace, since when, doing what, and what to do.
 */
export const denial = (workspace: string, by: Claim, observation: Observation): string =>
  [
    holderOf(workspace, by, observation),
    'Nothing was changed. Do not look for a way around it: go on with what changes no files, then try again; or tell the user, who can let that session finish, close it, or start you in another git worktree.',
    ending(by, observation),
  ].join(' ')

/** The same for whoever runs git, person or agent. */
export const gitDenial = (workspace: string, by: Claim, observation: Observation): string =>
  [
    holderOf(workspace, by, observation),
    ending(by, observation),
    'To go on anyway, set STINT_BYPASS=1 for this one command.',
  ].join('\n')

/** What others have written is quoted and made harmless: a model reads it. */
function holderOf(workspace: string, by: Claim, observation: Observation): string {
  const where = visibleText(workspace)
  const what = by.paths.includes('**') ? where : `${listed(by.paths)} in ${where}`
  const busy = claimStatus(by, observation) === 'busy' ? ', and is at work right now' : ''
  const doing = by.purpose === null ? '' : `; it is doing ${JSON.stringify(visibleText(by.purpose, 200))}`
  const [held, active] = [observation.now.wall - by.acquired_at, ageOf(by, observation.now)].map(rounded)
  return `${blockReason(visibleText(by.session_id), by.pid)}. That session has held ${what} for ${held}, was last active ${active} ago${busy}${doing}.`
}

const ending = (by: Claim, observation: Observation): string =>
  `Its claim ends by itself at the latest in ${rounded(remainingMs(by, observation))}; \`stint lock status\` shows it.`

const listed = (paths: readonly string[]): string => {
  const shown = paths.slice(0, 3).map((path) => visibleText(path, 100))
  return paths.length > 3 ? `${shown.join(', ')} and ${paths.length - 3} more` : shown.join(', ')
}

/** To the second; what is less is "a moment". */
const rounded = (ms: number): string =>
  ms < 1000 ? 'a moment' : formatDuration(Math.round(ms / 1000) * 1000)
