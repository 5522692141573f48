import { join } from 'node:path'
import { GatheredLog } from '../base/fs/bounded-log.ts'
import { ensureHomeDirectory } from '../base/fs/home.ts'
import { isNumber, isString, parseObject } from '../base/text/fields.ts'
import { type Claim, type ClaimOrigin, type ClaimsRecord, validFields, parseOrigin } from './claim.ts'
import { transcriptTime } from './evidence.ts'
import type { ActivityLogs, Now } from './register.ts'
import { type AcquireRequest, covers, overlap } from './rules.ts'

/**
 * An event in the activity log of a workspace. `takeover`: another session was granted the paths of a claim
 * whose time was over, or whose holder had died.
 */
export const activityKinds = ['grant', 'wait', 'refusal', 'takeover', 'release', 'break'] as const

/** A line of the log. `takeover` and `break` are about the session that lost its claim. */
export interface ClaimActivity {
  session_id: string
  pid: number | null
  paths: readonly string[]
  purpose: string | null
  parent?: string
  origin?: ClaimOrigin
  /** Milliseconds since the epoch. */
  at: number
  kind: (typeof activityKinds)[number]
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
      !before.claims.some((claim) => claim.session_id === session_id && claim.fence === fence),
  )
  return [
    ...before.claims.flatMap((claim) => endOf(claim, after, grants[0], at) ?? []),
    ...grants.map((claim) => {
      return { ...actorOf(claim), kind: 'grant' as const, fence: claim.fence, at, workspace: after.workspace }
    }),
  ]
}

/** How a claim, or a part of its paths, has ended; undefined if it has not. */
function endOf(
  claim: Claim,
  after: ClaimsRecord,
  newGrant: Claim | undefined,
  at: number,
): ClaimActivity | undefined {
  const { session_id, fence, acquired_at, until_wall } = claim
  // A claim with the same fence is this one, though its session may go on under another id.
  const remainder = after.claims.find((other) => other.session_id === session_id || other.fence === fence)
  const paths = claim.paths.filter((path) => !remainder?.paths.some((other) => covers(other, path)))
  if (paths.length === 0) return undefined
  const end = { ...actorOf(claim), paths, fence, at, held_ms: at - acquired_at }
  const broken = after.breaks.find((entry) => entry.session_id === session_id && entry.fence === fence)
  if (broken !== undefined)
    return { ...end, kind: 'break', by: broken.by, reason: broken.reason ?? undefined }
  if (newGrant === undefined || remainder !== undefined) return { ...end, kind: 'release' }
  // The holder may have been dead for hours: it held the claim until its last act, at most.
  const lastAct = transcriptTime(claim.origin) ?? until_wall
  const held_ms = Math.max(0, Math.min(at, until_wall, lastAct) - acquired_at)
  return { ...end, kind: 'takeover', by: newGrant.session_id, held_ms }
}

const actorOf = ({ session_id, holders, paths, purpose, ancestors, origin }: Claim) => ({
  session_id,
  pid: holders[0]?.pid ?? null,
  paths,
  purpose: purpose ?? null,
  parent: ancestors?.[0],
  origin,
})

/** The session of a request. Its origin is looked up, so this is called only for a line that is written. */
const askerOf = ({ sessionId, holder, paths, purpose, parent, origin }: AcquireRequest) => ({
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

/** Parses the lines of a log and puts them in order; leaves out torn and foreign ones. */
export const parseActivities = (lines: readonly string[]): ClaimActivity[] =>
  lines.flatMap((line) => parseActivity(line) ?? []).sort((a, b) => a.at - b.at)

function parseActivity(line: string): ClaimActivity | undefined {
  // A line that a full disk has cut off has no end, and the next line follows it at once.
  const value = parseObject(line) ?? parseObject(line.slice(Math.max(0, line.lastIndexOf('{"session_id":'))))
  const kind = activityKinds.find((name) => name === value?.kind)
  if (value === undefined || kind === undefined || !isString(value.session_id) || !isNumber(value.at))
    return undefined
  const origin = parseOrigin(value.origin)
  return {
    session_id: value.session_id,
    pid: isNumber(value.pid) ? value.pid : null,
    paths: Array.isArray(value.paths) ? value.paths.filter(isString) : [],
    purpose: isString(value.purpose) ? value.purpose : null,
    at: value.at,
    kind,
    ...validFields(value, isNumber, 'fence', 'held_ms'),
    ...validFields(value, isString, 'by', 'reason', 'parent', 'workspace'),
    ...(origin && { origin }),
  }
}

/** A session that is refused by the same holder again in this time is not noted again. */
const repeatMs = 60_000

/**
 * The claims of other sessions on the paths of a claim that have ended since its session was last here, the
 * newest of each session. A session that the log does not name has seen nothing that could be out of date.
 */
export function endedSince(history: readonly ClaimActivity[], claim: Claim): ClaimActivity[] {
  const overlaps = ({ paths }: ClaimActivity): boolean =>
    overlap({ paths, mode: 'exclusive' }, { paths: claim.paths, mode: 'exclusive' })
  const earlier = history.filter(
    ({ session_id, fence }) => session_id === claim.session_id && fence !== claim.fence,
  )
  const last = earlier.findLast(overlaps) ?? earlier[0]
  if (last === undefined) return []
  const ended = history
    .slice(history.indexOf(last) + 1)
    .filter(
      (activity) =>
        activity.held_ms !== undefined &&
        activity.session_id !== claim.session_id &&
        claim.ancestors?.includes(activity.session_id) !== true &&
        activity.parent !== claim.session_id &&
        overlaps(activity),
    )
  return [...new Map(ended.map((activity) => [activity.session_id, activity])).values()]
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

  /** Notes the grants and the ends of claims in a change that was carried out; nothing for a renewal. */
  noteChange(before: ClaimsRecord, after: ClaimsRecord, now: Now): void {
    const activities = activitiesIn(before, after, now)
    if (activities.length > 0) this.#logs.append(this.#key, () => activities.map(formatActivity))
  }

  /** Notes that another session's claim is in the way; of repetitions within a minute, only the first. */
  async noteBlocked(
    kind: 'wait' | 'refusal',
    request: AcquireRequest,
    by: Claim,
    { wall }: Now,
  ): Promise<void> {
    const encounter = { kind, session_id: request.sessionId, by: by.session_id, at: Math.round(wall) }
    try {
      const isRepeated = (await this.readRecent()).some(
        (activity) =>
          activity.kind === kind &&
          activity.session_id === encounter.session_id &&
          activity.by === encounter.by &&
          encounter.at - activity.at < repeatMs,
      )
      if (isRepeated) return
      const line = formatActivity({ ...askerOf(request), ...encounter })
      this.#logs.append(this.#key, () => [line])
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
    return endedSince(await this.read(), claim)
  }
}

const maxLogBytes = 128 << 10

/** The activity logs in the home: one for each key, in two files of 128 KiB. */
export function homeActivityLogs(home: string): ActivityLogs {
  const logs = new Map<string, GatheredLog>()
  let isReady = false
  const logOf = (key: string): GatheredLog => {
    const log = logs.get(key) ?? new GatheredLog(`${home}/activity/${key}.log`, maxLogBytes)
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
