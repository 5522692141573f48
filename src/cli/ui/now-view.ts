import type { Liveness } from '../../base/process/liveness.ts'
import {
  areInConflict,
  busyWork,
  type Claim,
  type ClaimedTarget,
  claimLiveness,
  isInForce,
  promptedSessions,
  type Waiter,
  type Work,
} from '../../lease/index.ts'
import type { SessionState, SessionSummary } from '../../session/index.ts'
import type { Incident, NowView, SessionTile, TileState } from '../../ui/protocol.ts'
import { tileStates } from '../../ui/protocol.ts'
import { describeClaim } from '../lock/describe.ts'
import type { StatusData } from '../status/gather.ts'

/** How many sessions are shown, and how many of the newest are read; the list of sessions has all. */
export const maxTiles = 200

/** Everything that the first page is made of. */
interface NowFacts {
  status: StatusData
  targets: readonly ClaimedTarget[]
  sessions: readonly SessionSummary[]
  prompts: ReturnType<typeof promptedSessions>
  incidents: readonly Incident[]
  /** When a session last got, lost or was refused a claim; 0 if that is not known. */
  lastActivityOf: (sessionId: string) => number
  readOnly: boolean
}

/** The data of the first page. */
export function nowView(facts: NowFacts): NowView {
  const { status, incidents, readOnly } = facts
  const { at, runs, findings } = status
  const tiles = tilesOf(facts).sort(byNeed(at))
  const totals = Object.fromEntries(tileStates.map((state) => [state, 0])) as Record<TileState, number>
  for (const { state } of tiles) totals[state] += 1
  return {
    at,
    read_only: readOnly,
    tiles: tiles.slice(0, maxTiles),
    totals,
    runs,
    incidents: [...incidents],
    findings,
  }
}

/** The facts about one session. */
interface Known {
  claims: { target: ClaimedTarget; claim: Claim }[]
  waits: { target: ClaimedTarget; waiter: Waiter }[]
  prompt?: NowFacts['prompts'][number]
  summary?: SessionSummary
}

function tilesOf({ status, targets, sessions, prompts, lastActivityOf }: NowFacts): SessionTile[] {
  const all = new Map<string, Known>()
  const knownOf = (id: string): Known => {
    const known = all.get(id) ?? { claims: [], waits: [] }
    all.set(id, known)
    return known
  }
  for (const target of targets) {
    for (const claim of target.claims) knownOf(claim.session_id).claims.push({ target, claim })
    for (const waiter of target.waiters) knownOf(waiter.session_id).waits.push({ target, waiter })
  }
  for (const prompt of prompts) knownOf(prompt.sessionId).prompt = prompt
  for (const summary of sessions)
    if (summary.state !== 'closed' || all.has(summary.id)) knownOf(summary.id).summary = summary
  return [...all]
    .filter(([, known]) => !hasEnded(known))
    .map(([id, known]) => tileOf(id, known, lastAtOf(known, lastActivityOf(id)) || status.at, status.at))
}

/** Whether a session was closed: the claim of its dead process stays until another session asks. */
const hasEnded = (known: Known): boolean => known.summary?.state === 'closed' && livenessOf(known) === 'dead'

/** The last sign of life of a session; 0 if none is known. */
const lastAtOf = ({ claims, waits, prompt, summary }: Known, activityAt: number): number =>
  Math.max(
    summary?.lastAt ?? 0,
    prompt?.at ?? 0,
    activityAt,
    ...claims.map(({ claim }) => claim.refreshed_at),
    ...waits.map(({ waiter }) => waiter.since),
  )

function tileOf(session_id: string, known: Known, lastAt: number, now: number): SessionTile {
  const { claims, waits, prompt, summary } = known
  const described = claims.map(({ target, claim }) => ({
    target,
    row: describeClaim(claim, target.observation),
  }))
  const [wait] = waits
  const origin = claims[0]?.claim.origin ?? wait?.waiter.origin ?? prompt?.origin ?? null
  const evidence = {
    work: claims.flatMap(({ target, claim }) => busyWork(claim, target.observation) ?? []),
    askedAt: askedAt(known),
    waitsSince: wait?.waiter.since,
    liveness: livenessOf(known),
    recorded: summary?.state,
    lastAt,
  }
  return {
    session_id,
    ...tileStateOf(evidence, now),
    origin,
    agent: origin?.agent ?? summary?.tool ?? null,
    pid: pidOf(known),
    title: summary?.title ?? summary?.key ?? null,
    purpose:
      claims.find(({ claim }) => claim.purpose !== null)?.claim.purpose ??
      origin?.prompt ??
      prompt?.words ??
      null,
    holds: described.map(({ target: { key, workspace: name }, row }) => ({
      key,
      name,
      paths: row.paths,
      fence: row.fence,
    })),
    work: described.find(({ row }) => row.work !== null)?.row.work ?? null,
    waits_for: wait === undefined ? null : waitOf(wait),
    workspace:
      claims[0]?.target.workspace ??
      wait?.target.workspace ??
      summary?.workspace ??
      origin?.directory ??
      null,
    last_at: lastAt,
    recorded: summary?.state ?? null,
  }
}

const pidOf = ({ claims, waits, prompt, summary }: Known): number | null =>
  claims[0]?.claim.pid ??
  waits[0]?.waiter.process.pid ??
  prompt?.agent.pid ??
  summary?.holder?.process.pid ??
  null

/** Since when a call has waited for the answer of the user. A question outlives its hold on the claim. */
function askedAt({ claims }: Known): number | undefined {
  const asked = claims.flatMap(({ target, claim }) =>
    claim.holders
      .filter((holder) => target.observation.liveness(holder) === 'alive')
      .flatMap(({ calls }) => calls.flatMap(({ waiting_since }) => waiting_since ?? [])),
  )
  return asked.length === 0 ? undefined : Math.min(...asked)
}

/** Alive if any of its processes is, dead if all are. */
function livenessOf({ claims, waits, prompt }: Known): Liveness | undefined {
  const all = [
    ...claims.map(({ target, claim }) => claimLiveness(claim, target.observation)),
    ...waits.map(({ target, waiter }) => target.observation.liveness(waiter.process)),
    ...(prompt === undefined ? [] : ['alive' as const]),
  ]
  if (all.includes('alive')) return 'alive'
  if (all.length === 0) return undefined
  return all.every((each) => each === 'dead') ? 'dead' : 'unknown'
}

function waitOf({ target, waiter }: Known['waits'][number]): SessionTile['waits_for'] {
  const { key, workspace: name, claims, observation } = target
  const inTheWay = claims.filter((claim) => isInForce(claim, observation) && areInConflict(claim, waiter))
  return {
    key,
    name,
    paths: waiter.paths,
    since: waiter.since,
    held_by: inTheWay.map(({ session_id }) => session_id),
  }
}

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
  if (recorded === 'damaged') return { state: 'damaged', since: lastAt }
  if (liveness === 'dead' || hasCrashed) return { state: 'crashed', since: lastAt }
  // After the user has agreed, the call runs, and no event has said so.
  if (askedAt !== undefined && running === undefined) return { state: 'waits-for-you', since: askedAt }
  if (waitsSince !== undefined) return { state: 'waiting', since: waitsSince }
  if (running !== undefined) return { state: 'working', since: running.since }
  if (background !== undefined) return { state: 'background', since: background.since }
  const isRecent = recorded === 'active' && now - lastAt <= recentMs
  return { state: isRecent ? 'working' : 'idle', since: lastAt }
}

/** A crash or damage is worth a look first for this long, in milliseconds. */
const newsMs = 24 * 3_600_000

type RankedTile = Pick<SessionTile, 'session_id' | 'state' | 'since'>

/** Sorts sessions: what needs a person first, then what moves; in each state the newest first. */
export const byNeed =
  (now: number) =>
  (a: RankedTile, b: RankedTile): number =>
    rankOf(a, now) - rankOf(b, now) || b.since - a.since || (a.session_id < b.session_id ? -1 : 1)

const rankOf = ({ state, since }: RankedTile, now: number): number =>
  (state === 'crashed' || state === 'damaged') && now - since > newsMs
    ? tileStates.length
    : tileStates.indexOf(state)
