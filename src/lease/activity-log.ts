import { join } from 'node:path'
import { GatheredLog } from '../base/fs/bounded-log.ts'
import { ensureHomeDirectory } from '../base/fs/home.ts'
import { isNumber, isString, parseObject } from '../base/text/fields.ts'
import { type Claim, type ClaimOrigin, type ClaimsRecord, parseOrigin } from './claim.ts'
import { transcriptTime } from './evidence.ts'
import type { ActivityLogs, Now } from './register.ts'
import { type AcquireRequest, covers } from './rules.ts'

/**
 * An event in the activity log of a workspace. `takeover`: another session was granted the paths of a claim
 * whose time was over, or whose holder had died.
 */
export const activityKinds = ['grant', 'wait', 'refusal', 'takeover', 'release', 'break'] as const
export type ActivityKind = (typeof activityKinds)[number]

/** The session of an activity, and what it works on. */
export interface Actor {
  session_id: string
  pid: number | null
  paths: readonly string[]
  purpose: string | null
  parent?: string
  origin?: ClaimOrigin
}

/** A line of the log. `takeover` and `break` are about the session that lost its claim. */
export interface ClaimActivity extends Actor {
  /** Milliseconds since the epoch. */
  at: number
  kind: ActivityKind
  fence?: number
  /** How long the session had held a claim that ended, in milliseconds. */
  held_ms?: number
  /** The session in the way, the session that took over, or the user who broke the claim. */
  by?: string
  /** Why a claim was broken. */
  reason?: string
  /** The name of the workspace or resource, in a grant: the record of a free one does not have it. */
  workspace?: string
}

/** The activities in a change of the claims: grants, and claims that ended. A refresh is none. */
export function activitiesIn(before: ClaimsRecord, after: ClaimsRecord, { wall }: Now): ClaimActivity[] {
  const at = Math.round(wall)
  const grants = after.claims.filter(
    ({ session_id, fence }) =>
      !before.claims.some((old) => old.session_id === session_id && old.fence === fence),
  )
  const ended = before.claims.flatMap((claim): ClaimActivity[] => {
    // A claim with the same fence is this one, though its session may go on under another id.
    const left = after.claims.find(
      ({ session_id, fence }) => session_id === claim.session_id || fence === claim.fence,
    )
    const paths = claim.paths.filter((path) => !left?.paths.some((other) => covers(other, path)))
    if (paths.length === 0) return []
    const broken = after.breaks.find(
      ({ session_id, fence }) => session_id === claim.session_id && fence === claim.fence,
    )
    const end = { ...actorOf(claim), paths, fence: claim.fence, at, held_ms: at - claim.acquired_at }
    if (broken !== undefined)
      return [{ ...end, kind: 'break', by: broken.by, reason: broken.reason ?? undefined }]
    if (grants[0] === undefined || left !== undefined) return [{ ...end, kind: 'release' }]
    // The holder may have been dead for hours: it held the claim until its last act, at most.
    const lastAct = transcriptTime(claim.origin) ?? claim.until_wall
    const held_ms = Math.max(0, Math.min(at, claim.until_wall, lastAct) - claim.acquired_at)
    return [{ ...end, kind: 'takeover', by: grants[0].session_id, held_ms }]
  })
  return [
    ...ended,
    ...grants.map((claim) => ({
      ...actorOf(claim),
      kind: 'grant' as const,
      fence: claim.fence,
      at,
      workspace: after.workspace,
    })),
  ]
}

/** Tells the most frequent change without looking at each claim twice: paths are added with a new fence. */
const isRenewal = (before: ClaimsRecord, after: ClaimsRecord): boolean =>
  before.claims.length === after.claims.length &&
  before.claims.every(({ session_id, fence, paths }, index) => {
    const claim = after.claims[index]
    return claim?.session_id === session_id && claim.fence === fence && claim.paths.length === paths.length
  })

const actorOf = ({ session_id, holders, paths, purpose, ancestors, origin }: Claim): Actor => ({
  session_id,
  pid: holders[0]?.pid ?? null,
  paths,
  purpose: purpose ?? null,
  parent: ancestors?.[0],
  origin,
})

/** The session of a request. Its origin is looked up, so this is called only for a line that is written. */
const askerOf = ({ sessionId, holder, paths, purpose, parent, origin }: AcquireRequest): Actor => ({
  session_id: sessionId,
  pid: holder?.pid ?? null,
  paths,
  purpose: purpose ?? null,
  parent,
  origin: origin?.(),
})

/** Characters kept of a string, and how many paths: every line stays far below the size of a log. */
const maxLength = 300
const maxPaths = 10

function formatActivity(activity: ClaimActivity): string {
  const paths = activity.paths.slice(0, maxPaths)
  const short = (_name: string, value: unknown): unknown =>
    isString(value) ? value.slice(0, maxLength) : value
  return JSON.stringify({ ...activity, paths }, short)
}

/** The lines of a session, without parsing them; a torn line of another session may precede its own. */
function linesOf(sessionId: string, lines: readonly string[]): string[] {
  const begin = `{"session_id":${JSON.stringify(sessionId.slice(0, maxLength))}`
  return lines.filter((line) => line.includes(begin))
}

/** Parses the lines of a log and puts them in order; leaves out torn and foreign ones. */
export const parseActivities = (lines: readonly string[]): ClaimActivity[] =>
  lines.flatMap((line) => parseActivity(line) ?? []).sort((a, b) => a.at - b.at)

function parseActivity(line: string): ClaimActivity | undefined {
  // A line that a full disk has cut off has no end, and the next line follows it at once.
  const value = parseObject(line) ?? parseObject(line.slice(Math.max(0, line.lastIndexOf('{"session_id":'))))
  const kind = activityKinds.find((each) => each === value?.kind)
  if (value === undefined || kind === undefined || !isString(value.session_id) || !isNumber(value.at))
    return undefined
  const activity: ClaimActivity = {
    session_id: value.session_id,
    pid: isNumber(value.pid) ? value.pid : null,
    paths: Array.isArray(value.paths) ? value.paths.filter(isString) : [],
    purpose: isString(value.purpose) ? value.purpose : null,
    at: value.at,
    kind,
  }
  for (const name of ['fence', 'held_ms'] as const) {
    const number = value[name]
    if (isNumber(number)) activity[name] = number
  }
  for (const name of ['by', 'reason', 'parent', 'workspace'] as const) {
    const text = value[name]
    if (isString(text)) activity[name] = text
  }
  const origin = parseOrigin(value.origin)
  if (origin !== undefined) activity.origin = origin
  return activity
}

/** For this long, a session that is refused by the same holder again is not noted again, in milliseconds. */
const repeatMs = 60_000

/** A request that met the claim of another session. */
type Encounter = Pick<ClaimActivity, 'kind' | 'session_id' | 'by' | 'at'>

/** Finds the same refusal, or the same wait, within the last minute. */
const findRepeated = (
  { kind, session_id, by, at }: Encounter,
  recent: readonly ClaimActivity[],
): ClaimActivity | undefined =>
  recent.find(
    (each) =>
      each.kind === kind && each.session_id === session_id && each.by === by && at - each.at < repeatMs,
  )

/** When encounters were noted, as far as this process knows: it need not search the log for them again. */
const notedAt = new WeakMap<ActivityLogs, Map<string, number>>()
const maxRemembered = 1000

/**
 * The claims of other sessions on these paths that have ended since the session was last here, the newest of
 * each session. A session that the log does not name has seen nothing that could be out of date.
 */
export function endedSince(
  history: readonly ClaimActivity[],
  claim: Claim,
  paths: readonly string[],
): ClaimActivity[] {
  const overlaps = (each: ClaimActivity): boolean =>
    each.paths.some((one) => paths.some((other) => covers(one, other) || covers(other, one)))
  const earlier = history.filter(
    ({ session_id, fence }) => session_id === claim.session_id && fence !== claim.fence,
  )
  const last = earlier.findLast(overlaps) ?? earlier[0]
  if (last === undefined) return []
  const ended = history
    .slice(history.indexOf(last) + 1)
    .filter(
      (each) =>
        each.held_ms !== undefined &&
        each.session_id !== claim.session_id &&
        claim.ancestors?.includes(each.session_id) !== true &&
        each.parent !== claim.session_id &&
        overlaps(each),
    )
  return [...new Map(ended.map((each) => [each.session_id, each])).values()]
}

/** How many bytes of the newest lines are searched for an earlier refusal: more than a busy minute has. */
const recentBytes = 16 << 10

/** The activity log of one workspace or resource. Nothing here throws: leases do not depend on their log. */
export class ActivityLog {
  readonly #logs: ActivityLogs
  readonly #key: string

  constructor(logs: ActivityLogs, key: string) {
    this.#logs = logs
    this.#key = key
  }

  /** Notes the grants and the ends of claims in a change that was carried out; returns it. */
  noteChange<Change extends { before: ClaimsRecord; record: ClaimsRecord; observation: { now: Now } }>(
    change: Change,
  ): Change {
    const { before, record, observation } = change
    if (!isRenewal(before, record))
      this.#logs.append(this.#key, () => activitiesIn(before, record, observation.now).map(formatActivity))
    return change
  }

  /** Notes that another session's claim is in the way; of repetitions within a minute, only the first. */
  async noteBlocked(
    kind: 'wait' | 'refusal',
    request: AcquireRequest,
    by: Claim,
    { wall }: Now,
  ): Promise<void> {
    const { sessionId: session_id } = request
    const encounter: Encounter = { kind, session_id, by: by.session_id, at: Math.round(wall) }
    const name = [this.#key, kind, session_id, by.session_id].join(' ')
    const notedAtMs = this.#noted.get(name)
    if (notedAtMs !== undefined && encounter.at - notedAtMs < repeatMs) return
    try {
      // Waiters look here often: parse only the lines of this session.
      const lines = linesOf(session_id, await this.#logs.read(this.#key, recentBytes))
      const repeated = findRepeated(encounter, parseActivities(lines))
      this.#noted.set(name, repeated?.at ?? encounter.at)
      if (repeated !== undefined) return
      this.#logs.append(this.#key, () => [formatActivity({ ...askerOf(request), ...encounter })])
      // The caller has no lease that could wait for this, and may give up and exit.
      await this.written()
    } catch {
      // The server is not reachable.
    }
  }

  /** Resolves when everything is written: a command that changes claims waits for it before it exits. */
  written(): Promise<void> {
    return this.#logs.written()
  }

  /** All activities that the log still has, oldest first. */
  async read(): Promise<ClaimActivity[]> {
    return parseActivities(await this.#logs.read(this.#key))
  }

  /** The newest activities, oldest first: about the last 50. */
  async readRecent(): Promise<ClaimActivity[]> {
    return parseActivities(await this.#logs.read(this.#key, recentBytes))
  }

  /** The claims of others that ended since the session of a claim, which was just granted, was last here. */
  async endedBefore(claim: Claim): Promise<ClaimActivity[]> {
    const lines = await this.#logs.read(this.#key)
    // Most sessions are here for the first time, and then the lines of others are not parsed.
    const earlier = parseActivities(linesOf(claim.session_id, lines))
    if (earlier.every(({ fence }) => fence === claim.fence)) return []
    return endedSince(parseActivities(lines), claim, claim.paths)
  }

  get #noted(): Map<string, number> {
    const all = notedAt.get(this.#logs) ?? new Map<string, number>()
    if (all.size >= maxRemembered) all.clear()
    notedAt.set(this.#logs, all)
    return all
  }
}

const maxLogBytes = 128 << 10

const logPath = (home: string, key: string): string => `${home}/activity/${key}.log`

/** The activity logs in the home: one for each key, in two files of 128 KiB. */
export function homeActivityLogs(home: string): ActivityLogs {
  const logs = new Map<string, GatheredLog>()
  let isReady = false
  const logOf = (key: string): GatheredLog => {
    const log = logs.get(key) ?? new GatheredLog(logPath(home, key), maxLogBytes)
    logs.set(key, log)
    return log
  }
  return {
    append(key, lines) {
      try {
        if (!isReady) ensureHomeDirectory(join(home, 'activity'))
        isReady = true
        logOf(key).append(lines)
      } catch {
        // The home is read-only, or the name of the directory leads elsewhere.
      }
    },
    written: async () => {},
    read: async (key, lastBytes) => logOf(key).read(lastBytes),
  }
}
