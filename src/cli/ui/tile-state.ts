import type { Liveness } from '../../base/process/liveness.ts'
import type { Work } from '../../lease/index.ts'
import type { SessionState } from '../../session/index.ts'
import type { TileState } from '../../ui/protocol.ts'

/** What is known about a session: from its claims, its places in line, its agent and its record. */
export interface TileEvidence {
  /** What keeps each of its claims busy. */
  work: readonly Pick<Work, 'state' | 'since'>[]
  /** Since when a call has waited for the answer of the user, however long ago; in ms since the epoch. */
  askedAt?: number
  /** Since when it has waited for a claim. */
  waitsSince?: number
  /** Whether the processes that its claims and prompts name are alive; undefined if there are none. */
  liveness?: Liveness
  recorded?: SessionState
  /** Its last sign of life. */
  lastAt: number
}

/** A session that holds no claim counts as working for this long after a record, in milliseconds. */
const recentMs = 30_000

/** The state of a session as people see it, and since when. The first that fits counts. */
export function tileStateOf(evidence: TileEvidence, now: number): { state: TileState; since: number } {
  const { work, askedAt, waitsSince, liveness, recorded, lastAt } = evidence
  const running = work.find(({ state }) => state === 'running')
  const background = work.find(({ state }) => state === 'background')
  const hasCrashed = recorded === 'crashed' && liveness !== 'alive'
  if (recorded === 'damaged' || liveness === 'dead' || hasCrashed) return { state: 'crashed', since: lastAt }
  // After the user has agreed, the call runs, and no event has said so.
  if (askedAt !== undefined && running === undefined) return { state: 'waits-for-you', since: askedAt }
  if (waitsSince !== undefined) return { state: 'waiting', since: waitsSince }
  if (running !== undefined) return { state: 'working', since: running.since }
  if (background !== undefined) return { state: 'background', since: background.since }
  const isRecent = recorded === 'active' && now - lastAt <= recentMs
  return { state: isRecent ? 'working' : 'idle', since: lastAt }
}

/** A crash is worth a look first for this long, in milliseconds. */
const crashNewsMs = 24 * 3_600_000

const order: readonly TileState[] = ['waits-for-you', 'crashed', 'waiting', 'working', 'background', 'idle']

/** Sorts sessions: what needs a person first, then what moves; in each state the newest first. */
export const byNeed =
  (now: number) =>
  (a: RankedTile, b: RankedTile): number =>
    rankOf(a, now) - rankOf(b, now) || b.since - a.since || (a.session_id < b.session_id ? -1 : 1)

interface RankedTile {
  session_id: string
  state: TileState
  since: number
}

const rankOf = ({ state, since }: RankedTile, now: number): number =>
  state === 'crashed' && now - since > crashNewsMs ? order.length : order.indexOf(state)
