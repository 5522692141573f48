import type { Liveness } from '../../base/process/liveness.ts'
import type { promptedSessions } from '../../hooks/index.ts'
import { describeClaim } from '../../lease/commands/describe.ts'
import {
  areInConflict,
  type Claim,
  type ClaimActivity,
  type ClaimedTarget,
  claimLiveness,
  transcriptTime,
  type Waiter,
} from '../../lease/index.ts'
import type { SessionState, SessionSummary } from '../../session/index.ts'
import { type SessionTile, type TileState, tileStates } from './protocol.ts'

/** What the tiles are made of. */
interface Sighting {
  at: number
  targets: readonly ClaimedTarget[]
  sessions: readonly SessionSummary[]
  prompts: ReturnType<typeof promptedSessions>
  /** What happened in workspaces lately. */
  activities: readonly ClaimActivity[]
}

/** The facts about one session. */
interface SessionFacts {
  claims: { target: ClaimedTarget; claim: Claim }[]
  waits: { target: ClaimedTarget; waiter: Waiter }[]
  prompt?: Sighting['prompts'][number]
  summary?: SessionSummary
  /** When it last got, lost or was refused a claim; 0 if that is not known. */
  activityAt: number
}

/** A tile for each session that is open, or holds or waits for something: what needs a person first. */
export function tilesOf({ at, targets, sessions, prompts, activities }: Sighting): SessionTile[] {
  const all = new Map<string, SessionFacts>()
  const factsOf = (id: string): SessionFacts => {
    const facts = all.get(id) ?? { claims: [], waits: [], activityAt: 0 }
    all.set(id, facts)
    return facts
  }
  for (const target of targets) {
    for (const claim of target.claims) factsOf(claim.session_id).claims.push({ target, claim })
    for (const waiter of target.waiters) factsOf(waiter.session_id).waits.push({ target, waiter })
  }
  for (const prompt of prompts) factsOf(prompt.sessionId).prompt = prompt
  for (const summary of sessions)
    if (summary.state !== 'closed' || all.has(summary.id)) factsOf(summary.id).summary = summary
  for (const activity of activities) {
    const facts = all.get(activity.session_id)
    if (facts !== undefined) facts.activityAt = Math.max(facts.activityAt, activity.at)
  }
  return [...all].map(([id, facts]) => tileOf(id, facts, at)).sort(byNeed(at))
}

function tileOf(session_id: string, facts: SessionFacts, now: number): SessionTile {
  const { claims, waits, prompt, summary } = facts
  const held = claims.map(({ target, claim }) => ({ target, row: describeClaim(claim, target.observation) }))
  const [wait] = waits
  const origin = claims[0]?.claim.origin ?? wait?.waiter.origin ?? prompt?.origin ?? null
  const purpose = held.find(({ row }) => row.purpose !== null)?.row.purpose
  const lastAt = lastAtOf(facts)
  const evidence = {
    holds: held.map(({ row }) => ({ state: row.state, since: row.acquired_at })),
    waitsSince: wait?.waiter.since,
    liveness: livenessOf(facts),
    recorded: summary?.state,
    lastAt,
  }
  return {
    session_id,
    ...tileStateOf(evidence, now),
    origin,
    agent: origin?.agent ?? summary?.tool ?? null,
    pid: pidOf(facts),
    task: origin?.prompt ?? (prompt?.words || undefined) ?? purpose ?? summary?.title ?? summary?.key ?? null,
    holds: held.map(({ target: { key, title: name }, row: { paths, fence } }) => ({
      key,
      name,
      paths,
      fence,
    })),
    doing: held.find(({ row }) => row.work !== null)?.row.work?.text ?? null,
    waits_for: wait === undefined ? null : waitOf(wait),
    workspace: (claims[0] ?? wait)?.target.title ?? summary?.workspace ?? origin?.directory ?? null,
    last_at: lastAt,
    recorded: summary?.state ?? null,
  }
}

/** The last sign of life of a session. */
const lastAtOf = ({ claims, waits, prompt, summary, activityAt }: SessionFacts): number =>
  Math.max(
    summary?.lastAt ?? 0,
    prompt?.at ?? 0,
    activityAt,
    transcriptTime(prompt?.origin) ?? 0,
    ...claims.map(({ claim }) => transcriptTime(claim.origin) ?? claim.acquired_at),
    ...waits.map(({ waiter }) => waiter.since),
  )

const pidOf = ({ claims, waits, prompt, summary }: SessionFacts): number | null =>
  claims[0]?.claim.holders[0]?.pid ??
  waits[0]?.waiter.process.pid ??
  prompt?.agent.pid ??
  summary?.holder?.process.pid ??
  null

/** Alive if any of its processes is, dead if all are; undefined if it has none. */
function livenessOf({ claims, waits, prompt }: SessionFacts): Liveness | undefined {
  const processes = [
    ...claims.map(({ target, claim }) => claimLiveness(claim, target.observation)),
    ...waits.map(({ target, waiter }) => target.observation.liveness(waiter.process)),
    ...(prompt === undefined ? [] : ['alive' as const]),
  ]
  if (processes.includes('alive')) return 'alive'
  if (processes.length === 0) return undefined
  return processes.every((liveness) => liveness === 'dead') ? 'dead' : 'unknown'
}

function waitOf({ target, waiter }: SessionFacts['waits'][number]): SessionTile['waits_for'] {
  const inTheWay = target.claims.filter((claim) => areInConflict(claim, waiter))
  return {
    key: target.key,
    name: target.title,
    paths: waiter.paths,
    held_by: inTheWay.map(({ session_id }) => session_id),
  }
}

/** What is known about a session: from its claims, its waits, its agent and its record. */
export interface TileEvidence {
  /** Its claims, and since when it has had each. */
  holds: readonly { state: 'held' | 'leftover'; since: number }[]
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
  const { holds, waitsSince, liveness, recorded, lastAt } = evidence
  const held = holds.find(({ state }) => state === 'held')
  const hasCrashed = recorded === 'crashed' && liveness !== 'alive'
  if (recorded === 'damaged') return { state: 'damaged', since: lastAt }
  if (hasCrashed || (liveness === 'dead' && recorded !== 'closed')) return { state: 'crashed', since: lastAt }
  if (waitsSince !== undefined) return { state: 'waiting', since: waitsSince }
  if (held !== undefined) return { state: 'working', since: held.since }
  if (holds[0] !== undefined) return { state: 'background', since: holds[0].since }
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
