import {
  type ClaimsRecord,
  homeRegister,
  isInForce,
  type Observation,
  WorkspaceClaims,
} from '../lease/index.ts'
import type { LastActs } from './take-point.ts'

/** The sessions whose claim ended without a release (Esc, a kill), and when each last did something. */
export const lastActsOf = ({ claims }: ClaimsRecord, observation: Observation): LastActs =>
  Object.fromEntries(
    claims
      .filter((claim) => !isInForce(claim, observation))
      .map(({ session_id, refreshed_at }) => [session_id, refreshed_at]),
  )

/** Does this session work within the claim of another one? Its changes count for that one. */
export const isNested = ({ claims }: ClaimsRecord, sessionId: string): boolean =>
  claims
    .find(({ session_id }) => session_id === sessionId)
    ?.ancestors?.some((ancestor) => claims.some(({ session_id }) => session_id === ancestor)) ?? false

/** Reads the claims on a worktree for `lastActsOf`. */
export async function readLastActs(root: string): Promise<LastActs> {
  const { record, observation } = await WorkspaceClaims.open(homeRegister(), { workspace: root }).read()
  return lastActsOf(record, observation)
}
