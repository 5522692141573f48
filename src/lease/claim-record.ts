import { type Identity, parseIdentity } from '../base/process/liveness.ts'
import { isCount, isNumber, isRecord, isString, parseObject } from '../base/text/fields.ts'
import type { Now } from './register.ts'

/** The record of a workspace or resource in a register: all claims on it. */
export interface ClaimsRecord {
  schema_version: 1
  /** The path or name behind the key: two paths with the same key must not share claims. */
  workspace: string
  /**
   * Grows with every reboot that may have lost epochs; `fence = generation * 2^20 + epoch`. It starts at the
   * minute of the wall clock, and is at least that after a reboot: see `generationAt`.
   */
  generation: number
  /** The boot that wrote this record, so that the next boot notices. */
  boot: string
  claims: Claim[]
  /** The last claims that were broken. */
  breaks: BrokenClaim[]
  /** No pass is valid in this epoch: its writer is about to decide on all the marks of earlier ones. */
  closed?: true
}

/** A claim that was removed against the will of its holder. */
export interface BrokenClaim {
  session_id: string
  fence: number
  by: string
  reason: string | null
  /** Milliseconds since the epoch. */
  at: number
}

/** A session's claim. Times are in milliseconds since the epoch. */
export interface Claim {
  session_id: string
  /** The first holder's pid; null if the claim belongs to no process. */
  pid: number | null
  acquired_at: number
  ttl_ms: number
  /** The time to live while a holder works on a call. */
  busy_ttl_ms: number
  refreshed_at: number
  /** `refreshed_at` on the monotonic clock that `clock` names. */
  mono: number
  clock: string
  /** Relative to the workspace; `**` is all of it. */
  paths: string[]
  mode: ClaimMode
  /** The number of the grant, higher than that of any earlier grant. */
  fence: number
  /** The fence of the first grant: the claim was never lost between the two. */
  first_fence: number
  purpose: string | null
  /** Whether some of its paths were released: a claim that then adds paths begins anew. */
  narrowed: boolean
  /** Whether it was taken without a process: it then outlives its holders until its time is over. */
  detached: boolean
  /** Set while a killed writer may not have looked for claims above and below: see `WorkspaceClaims`. */
  unconfirmed?: true
  /** The sessions that this one works for, its parent first: see `party.ts`. */
  ancestors?: string[]
  /** It counts as its parent in every comparison. */
  as_parent?: true
  /** Where the session works, for the people who meet its claim. */
  origin?: ClaimOrigin
  /** When the claim began, in clock ticks since boot, as in the start times of processes. */
  ticks?: number
  /** How other processes judge the calls of this claim; absent if no agent's hook has made it. */
  policy?: CallPolicy
  /** The processes of calls that still ran when a turn ended. */
  background?: BackgroundProcess[]
  /** The turn has ended: only its background processes keep the claim in force. */
  turn_ended?: true
  /** When another session first found that the agent has died and left processes. */
  dead_since?: number
  /** Set if hooks may begin and end calls of this claim with marks, without changing the record. */
  pass?: ClaimPass
  holders: ClaimHolder[]
}

/** How the marks of a claim are dated, and which of them count: see `marks.ts`. */
export interface ClaimPass {
  /** Seconds since boot when the claim got its pass, with the time that the machine was suspended. */
  uptime: number
  /** The register's monotonic clock at that moment, in milliseconds, without that time. */
  mono: number
  /** The calls of the marks of this epoch and of earlier ones are in the record. */
  folded: number
}

/** What the user of an agent has chosen, and what the hook knows about its host. */
export interface CallPolicy {
  /** How long a call that waits for its user keeps the claim busy. */
  prompt_hold_ms: number
  /** How long background processes keep the claim busy; 0: not at all. */
  background_ms: number
  /** `NAME=value` in the environment of the processes that the session's calls start. */
  mark?: string
  /** The agent's process works for several sessions. */
  shared_process?: true
}

/** A process that a call has left running. With the machine of the claim's holders, it is an identity. */
export interface BackgroundProcess extends Pick<Identity, 'pid' | 'started'> {
  /** The name of its program. */
  name: string
  /** When the turn ended that had started it, in milliseconds since the epoch. */
  since: number
}

/** Tells people whose session it is. A property is absent if it is not known. */
export interface ClaimOrigin {
  /** The agent's name for people, such as `Claude Code`. */
  agent?: string
  /** The terminal, such as `pts/3`. */
  terminal?: string
  /** The pane of tmux, such as `%5`. */
  tmux_pane?: string
  hostname?: string
  user?: string
  /** The directory that the agent was started in. */
  directory?: string
  /** The first words of the prompt that the agent works on, without secrets. */
  prompt?: string
  /** The command of stint that made the claim: `lock acquire`. */
  command?: string
}

export type ClaimMode = 'exclusive' | 'shared'

/** A process that a claim belongs to. */
export interface ClaimHolder extends Identity {
  /** The tool calls in flight: they keep the claim busy while the process lives. */
  calls: HolderCall[]
}

/** A use of a tool that has begun, and of which no end was reported. Times are as in a claim. */
export interface HolderCall {
  id: string
  since: number
  kind?: 'command' | 'edit'
  /** The program of a command, or the file of an edit. */
  name?: string
  /** `since` in clock ticks since boot: processes of the call started later. */
  ticks?: number
  /** When the agent asked its user for permission. */
  waiting_since?: number
}

/** Whether calls of a claim may be in marks. */
export const hasPass = ({ claims }: ClaimsRecord): boolean => claims.some(({ pass }) => pass !== undefined)

export const wholeWorkspace: readonly string[] = ['**']
export const defaultTtlMs = 5 * 60_000
export const defaultBusyTtlMs = 2 * 3_600_000
export const defaultCallPolicy: CallPolicy = { prompt_hold_ms: 30 * 60_000, background_ms: 10 * 60_000 }
/** No claim lasts longer without a refresh, whatever its record says. */
export const maxTtlMs = 30 * 24 * 3_600_000

export const noClaims = (workspace: string): ClaimsRecord => {
  return { schema_version: 1, workspace, generation: 0, boot: '', claims: [], breaks: [] }
}

/**
 * A wall time in milliseconds as a number that epochs can start after, whatever the clock says: a positive
 * integer, at most in the year 6429. That leaves room to count on, within the 15 digits of an epoch.
 */
export const countableTime = (wall: number): number => (wall >= 1 ? Math.min(Math.floor(wall), 2 ** 47) : 1)

/**
 * The generation of a record that may follow lost ones: the minute. Fences then grow, as a key does not
 * change 2^20 times a minute, unless the clock was set back meanwhile.
 */
export const generationAt = (timeMs: number): number => Math.floor(countableTime(timeMs) / 60_000)

export const isSameProcess = (a: Identity, b: Identity): boolean =>
  a.pid === b.pid && a.started === b.started && a.boot === b.boot && a.pidns === b.pidns && a.host === b.host

/**
 * Formats a record for a register. A record with one claim, the usual case, starts with a line of the numbers
 * that change, so that the register can keep the rest in a file; one without claims is a single line. Any
 * other is JSON. `id`, a writer and how many records it has written, makes every text unique.
 */
export function formatClaimsRecord(record: ClaimsRecord, id: { writer: string; count: number }): string {
  const count = id.count.toString(36)
  if (record.claims.length === 0 && record.breaks.length === 0)
    return `free ${record.generation} ${record.boot} ${id.writer} ${count}`
  const [claim, second] = record.claims
  if (claim === undefined || second !== undefined || record.breaks.length > 0)
    return JSON.stringify({ ...record, ...id })
  const { refreshed_at, mono, acquired_at, fence, first_fence, ...constant } = claim
  const numbers = [refreshed_at, mono, refreshed_at - acquired_at, fence, fence - first_fence]
  if (!numbers.every(isCount)) return JSON.stringify({ ...record, ...id })
  const line = numbers.map((number) => number.toString(36)).join(' ')
  return `${line} ${count}\n${JSON.stringify({ ...record, claims: [constant], writer: id.writer })}`
}

function parsePass(value: unknown): ClaimPass | undefined {
  if (!isRecord(value) || ![value.uptime, value.mono, value.folded].every(isNumber)) return undefined
  const { uptime, mono, folded } = value as unknown as ClaimPass
  return { uptime, mono, folded }
}

/**
 * Parses a record; undefined if it is damaged or of a later version. `workspace` completes a record without
 * claims, which does not contain it.
 */
export function parseClaimsRecord(text: string, workspace: string): ClaimsRecord | undefined {
  if (text.startsWith('free ')) return parseFree(text, workspace)
  const value = text.startsWith('{') ? parseObject(text) : parseOneClaim(text)
  if (value?.schema_version !== 1) return undefined
  return {
    schema_version: 1,
    workspace: stringOr(value.workspace, workspace),
    generation: generationOr0(value.generation),
    boot: stringOr(value.boot, ''),
    claims: listOf(value.claims, parseClaim),
    breaks: listOf(value.breaks, parseBreak),
    ...(value.closed === true && { closed: true }),
  }
}

function parseFree(text: string, workspace: string): ClaimsRecord | undefined {
  const [, generation, boot] = /^free (\d{1,15}) (\S*) /.exec(text) ?? []
  if (boot === undefined) return undefined
  return { ...noClaims(workspace), generation: generationOr0(Number(generation)), boot }
}

/** Puts the numbers of the first line into the claim of the second. */
function parseOneClaim(text: string): Record<string, unknown> | undefined {
  const end = text.indexOf('\n')
  const value = end < 0 ? undefined : parseObject(text.slice(end + 1))
  if (value === undefined || !Array.isArray(value.claims) || !isRecord(value.claims[0])) return undefined
  const [refreshed = 0, mono, since = 0, fence = 0, widened = 0] = text
    .slice(0, end)
    .split(' ')
    .map((number) => Number.parseInt(number, 36))
  const times = { refreshed_at: refreshed, mono, acquired_at: refreshed - since }
  return { ...value, claims: [{ ...value.claims[0], ...times, fence, first_fence: fence - widened }] }
}

/** A generation becomes part of every fence: one that is too large to count with is discarded. */
const generationOr0 = (value: unknown): number => (isCount(value) && value < 2 ** 32 ? value : 0)

const listOf = <Item>(value: unknown, parse: (item: unknown) => Item | undefined): Item[] =>
  Array.isArray(value) ? value.flatMap((item) => parse(item) ?? []) : []

/** Undefined for an invalid claim: it must not lock the workspace for ever. */
function parseClaim(value: unknown): Claim | undefined {
  if (!isRecord(value) || !isString(value.session_id) || !isNumber(value.acquired_at)) return undefined
  const paths = listOf(value.paths, (path) => (isString(path) ? path : undefined))
  const fence = numberOr(value.fence, 0)
  const claim: Claim = {
    session_id: value.session_id,
    pid: isNumber(value.pid) ? value.pid : null,
    acquired_at: value.acquired_at,
    ttl_ms: Math.min(maxTtlMs, numberOr(value.ttl_ms, defaultTtlMs)),
    busy_ttl_ms: Math.min(maxTtlMs, numberOr(value.busy_ttl_ms, defaultBusyTtlMs)),
    refreshed_at: numberOr(value.refreshed_at, value.acquired_at),
    mono: numberOr(value.mono, 0),
    clock: stringOr(value.clock, ''),
    paths: paths.length === 0 ? [...wholeWorkspace] : paths,
    mode: value.mode === 'shared' ? 'shared' : 'exclusive',
    fence,
    first_fence: numberOr(value.first_fence, fence),
    purpose: isString(value.purpose) ? value.purpose : null,
    narrowed: value.narrowed === true,
    detached: value.detached === true,
    holders: listOf(value.holders, parseHolder),
  }
  if (value.unconfirmed === true) claim.unconfirmed = true
  const ancestors = listOf(value.ancestors, (id) => (isString(id) ? id : undefined))
  if (ancestors.length > 0) claim.ancestors = ancestors
  if (value.as_parent === true) claim.as_parent = true
  const origin = parseOrigin(value.origin)
  if (origin !== undefined) claim.origin = origin
  if (isNumber(value.ticks)) claim.ticks = value.ticks
  const policy = parsePolicy(value.policy)
  if (policy !== undefined) claim.policy = policy
  const background = listOf(value.background, parseBackground)
  if (background.length > 0) claim.background = background
  if (value.turn_ended === true) claim.turn_ended = true
  if (isNumber(value.dead_since)) claim.dead_since = value.dead_since
  const pass = parsePass(value.pass)
  if (pass !== undefined) claim.pass = pass
  return claim
}

function parsePolicy(value: unknown): CallPolicy | undefined {
  if (!isRecord(value)) return undefined
  const { prompt_hold_ms, background_ms, mark } = value
  return {
    prompt_hold_ms: numberOr(prompt_hold_ms, defaultCallPolicy.prompt_hold_ms),
    background_ms: numberOr(background_ms, defaultCallPolicy.background_ms),
    ...(isString(mark) && { mark }),
    ...(value.shared_process === true && { shared_process: true }),
  }
}

function parseBackground(value: unknown): BackgroundProcess | undefined {
  if (!isRecord(value) || !isCount(value.pid) || value.pid === 0) return undefined
  const { pid, started, name, since } = value
  return {
    pid,
    started: isNumber(started) ? started : null,
    name: stringOr(name, ''),
    since: numberOr(since, 0),
  }
}

const originFields = [
  'agent',
  'terminal',
  'tmux_pane',
  'hostname',
  'user',
  'directory',
  'prompt',
  'command',
] as const satisfies readonly (keyof ClaimOrigin)[]

export function parseOrigin(value: unknown): ClaimOrigin | undefined {
  if (!isRecord(value)) return undefined
  const origin: ClaimOrigin = {}
  for (const field of originFields) {
    const text = value[field]
    if (isString(text)) origin[field] = text
  }
  return origin
}

function parseBreak(value: unknown): BrokenClaim | undefined {
  if (!isRecord(value) || !isString(value.session_id)) return undefined
  return {
    session_id: value.session_id,
    fence: numberOr(value.fence, 0),
    by: stringOr(value.by, ''),
    reason: isString(value.reason) ? value.reason : null,
    at: numberOr(value.at, 0),
  }
}

function parseHolder(value: unknown): ClaimHolder | undefined {
  const identity = parseIdentity(value)
  if (identity === undefined || !isRecord(value)) return undefined
  return { ...identity, calls: listOf(value.calls, parseCall) }
}

function parseCall(value: unknown): HolderCall | undefined {
  if (!isRecord(value) || !isString(value.id)) return undefined
  const { id, since, kind, name, ticks, waiting_since } = value
  return {
    id,
    since: numberOr(since, 0),
    ...((kind === 'command' || kind === 'edit') && { kind }),
    ...(isString(name) && { name }),
    ...(isNumber(ticks) && { ticks }),
    ...(isNumber(waiting_since) && { waiting_since }),
  }
}

const numberOr = (value: unknown, other: number): number => (isNumber(value) ? value : other)
const stringOr = (value: unknown, other: string): string => (isString(value) ? value : other)

/**
 * Replaces a record that this version cannot parse. A record from before this boot is what a power loss left,
 * and holds nothing. Any other may be a later version's: it blocks for as long as a claim written at that
 * time would. The generation is unknown, and the wall clock gives a higher one.
 */
export function replaceUnreadable(
  workspace: string,
  boot: string,
  now: Now,
  writtenAt: number | undefined,
): ClaimsRecord {
  const empty = { ...noClaims(workspace), boot, generation: generationAt(now.wall) }
  // The monotonic clock counts from the boot, without a laptop's sleep: this is too late, never too early.
  const bootedAt = now.wall - now.mono
  if (writtenAt === undefined || writtenAt < bootedAt) return empty
  const claim = { session_id: '(a record this version cannot read)', acquired_at: writtenAt, detached: true }
  return { ...empty, claims: listOf([claim], parseClaim) }
}
