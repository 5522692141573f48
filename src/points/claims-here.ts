import { StintError } from '../base/errors/stint-error.ts'
import { newSessionId } from '../base/text/id.ts'
import {
  acquireLease,
  type Claim,
  type ClaimsRecord,
  defaultTtlMs,
  homeStore,
  isInForce,
  type Lease,
  type Observation,
  transcriptTime,
  WorkspaceClaims,
} from '../lease/index.ts'
import { readPoints } from './point.ts'
import { findStore, type PointStore, withStore } from './store.ts'
import type { LastActs } from './take-point.ts'
import { commandWaitMs } from './worktree-changes.ts'

/** The sessions whose claim ended without a release (Esc, a kill), and when each last did something. */
export const lastActsOf = ({ claims }: ClaimsRecord, observation: Observation): LastActs =>
  Object.fromEntries(
    claims
      .filter((claim) => !isInForce(claim, observation))
      .map((claim) => [claim.session_id, lastActOf(claim)]),
  )

/** Without a transcript, the last renewal: most claims last for five minutes after it. */
const lastActOf = ({ origin, acquired_at, until_wall }: Claim): number =>
  transcriptTime(origin) ?? Math.max(acquired_at, until_wall - defaultTtlMs)

/** Does this session work within the claim of another one? Its changes count for that one. */
export const isNested = ({ claims }: ClaimsRecord, sessionId: string): boolean =>
  claims
    .find(({ session_id }) => session_id === sessionId)
    ?.ancestors?.some((ancestor) => claims.some(({ session_id }) => session_id === ancestor)) ?? false

const readClaims = (root: string) => WorkspaceClaims.open(homeStore(), { workspace: root }).read()

/** Reads the claims on a worktree for `lastActsOf`. */
export async function readLastActs(root: string): Promise<LastActs> {
  const { record, observation } = await readClaims(root)
  return lastActsOf(record, observation)
}

/** Runs `act` with a claim on the whole worktree, and the lock of its store. */
export async function underClaim<Result>(
  root: string,
  purpose: string,
  act: (sessionId: string, store: PointStore) => Promise<Result>,
): Promise<Result> {
  const sessionId = newSessionId()
  const claim = await claimWorktree(root, sessionId, purpose)
  try {
    return await withStore(root, { waitMs: commandWaitMs }, (store) => act(sessionId, store))
  } finally {
    await claim?.release()
  }
}

/**
 * Claims a worktree. A session that keeps its claim between turns (`--hold session`) is not in the way: its
 * next turn begins with a point, and waits for the lock of the store. Then there is no claim.
 */
async function claimWorktree(root: string, sessionId: string, purpose: string): Promise<Lease | undefined> {
  try {
    return await acquireLease({ sessionId, workspace: root, purpose })
  } catch (error) {
    const isHeld = error instanceof StintError && error.code === 'LOCK_HELD'
    if (!isHeld || !(await areAllBetweenTurns(root))) throw error
    return undefined
  }
}

async function areAllBetweenTurns(root: string): Promise<boolean> {
  const { record, observation } = await readClaims(root)
  const store = findStore(root)
  const points = store === undefined ? [] : readPoints(store)
  return record.claims
    .filter((claim) => isInForce(claim, observation))
    .every((claim) => {
      const last = points.findLast(({ session_id }) => session_id === claim.session_id)
      return last?.kind === 'end' && observation.work(claim).every(({ isServer }) => isServer)
    })
}
