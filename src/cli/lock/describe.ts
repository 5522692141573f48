import {
  ageOf,
  type Claim,
  claimLiveness,
  claimStatus,
  type Observation,
  remainingMs,
} from '../../lease/index.ts'
import { visibleText } from '../../base/text/escape.ts'
import { formatAge } from '../text/format.ts'

/** A claim in the form that status, list and watch show. */
export const describeClaim = (claim: Claim, observation: Observation) => ({
  session_id: claim.session_id,
  pid: claim.pid,
  standing: claimStatus(claim, observation),
  liveness: claimLiveness(claim, observation),
  acquired_at: claim.acquired_at,
  age_ms: Math.round(ageOf(claim, observation.now)),
  expires_in_ms: Math.round(remainingMs(claim, observation)),
  paths: claim.paths,
  mode: claim.mode,
  fence: claim.fence,
  purpose: claim.purpose,
  holders: claim.holders.map(({ pid, calls }) => ({ pid, calls: calls.length })),
})

export type ClaimDescription = ReturnType<typeof describeClaim>

export function renderClaim(claim: ClaimDescription): string {
  const what = claim.paths.join(' ') === '**' ? 'all of it' : claim.paths.join(' ')
  const who =
    claim.pid === null ? claim.session_id : `${claim.session_id} (pid ${claim.pid}, ${claim.liveness})`
  const how = claim.mode === 'shared' ? ', shared' : ''
  const why = claim.purpose === null ? '' : `  ${JSON.stringify(claim.purpose)}`
  const age = formatAge(claim.age_ms)
  return visibleText(
    `  ${who}  ${what}${how}  ${claim.standing}, refreshed ${age} ago, fence ${claim.fence}${why}`,
  )
}
