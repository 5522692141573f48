import { type Identity, parseIdentity } from '../base/process/liveness.ts'
import { isCount, isNumber, isRecord, isString, parseObject } from '../base/text/fields.ts'

/** The record of a workspace or resource in a register: all claims on it. */
export interface ClaimsRecord {
  schema_version: 2
  /** The path or name behind the key: two paths with the same key must not share claims. */
  workspace: string
  /** The highest fence that was ever given here. */
  fence: number
  claims: Claim[]
  /** The last claims that were broken. */
  breaks: BrokenClaim[]
  /** The session whose claim was released last: it lets a waiter go first. */
  last?: string
}

/** A claim that was removed against the will of its holder. */
export interface BrokenClaim {
  session_id: string
  fence: number
  by: string
  reason: string | null
  /** Unix time in milliseconds. */
  at: number
}

/** A session's claim. `force.ts` says when it is in force. */
export interface Claim {
  session_id: string
  /** The processes of the agent or program that has it. Empty: only its time ends it. */
  holders: Identity[]
  /** Relative to the workspace, `**` is all of it; absolute in the place outside of repositories. */
  paths: string[]
  mode: ClaimMode
  /** The number of the grant, higher than that of any earlier grant. */
  fence: number
  /** The fence of the first grant: the claim was never lost between the two. */
  first_fence: number
  /** Paths were released: if they are claimed again, they were lost in between. */
  narrowed?: true
  /** When it was granted, in milliseconds since the epoch. */
  acquired_at: number
  /** When it was granted, in clock ticks since boot, as in the start times of processes. */
  ticks?: number
  /** Names the monotonic clock that `until` and `ends` are read on. */
  clock: string
  /** In milliseconds of that clock: the claim needs no proof of work until then. */
  until: number
  /** `until` in milliseconds since the epoch, for readers with another clock. */
  until_wall: number
  /**
   * In milliseconds of that clock: the turn has ended or the holders have died, and only processes that its
   * calls have left keep the claim, until then at most.
   */
  ends?: number
  purpose?: string
  /** Where the session works, for the people who meet its claim. */
  origin?: ClaimOrigin
  /** The sessions that this one works for, its parent first: see `party.ts`. */
  ancestors?: string[]
}

export type ClaimMode = 'exclusive' | 'shared'

/** Tells people whose session it is, and the evidence where to look. A property is absent if not known. */
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
  /** The agent's transcript, and its size in bytes at the last renewal: interruptions are appended to it. */
  transcript?: { path: string; size: number }
  /** `NAME=value` in the environment of the processes that the session's calls start. */
  variable?: string
  /** The agent's process works for several sessions. */
  shared_process?: true
}

/** The claim on all of a repository or resource. */
export const wholeWorkspace: readonly string[] = ['**']
export const defaultTtlMs = 5 * 60_000
/** No claim lasts longer without a renewal, whatever its record says. */
export const maxTtlMs = 30 * 24 * 3_600_000

export const noClaims = (workspace: string): ClaimsRecord => {
  return { schema_version: 2, workspace, fence: 0, claims: [], breaks: [] }
}

export const isSameProcess = (a: Identity, b: Identity): boolean =>
  a.pid === b.pid && a.started === b.started && a.boot === b.boot && a.pidns === b.pidns && a.host === b.host

/**
 * Parses a record; undefined if it is damaged. A power cut can leave an empty file, as nothing here is
 * synced; the processes of its claims have died with the machine.
 */
export function parseClaimsRecord(text: string): ClaimsRecord | undefined {
  const value = parseObject(text)
  if (value?.schema_version !== 2 || !isString(value.workspace)) return undefined
  return {
    schema_version: 2,
    workspace: value.workspace,
    fence: isCount(value.fence) ? value.fence : 0,
    claims: listOf(value.claims, parseClaim),
    breaks: listOf(value.breaks, parseBreak),
    ...validFields(value, isString, 'last'),
  }
}

const listOf = <Item>(value: unknown, parse: (item: unknown) => Item | undefined): Item[] =>
  Array.isArray(value) ? value.flatMap((item) => parse(item) ?? []) : []

const strings = (value: unknown): string[] => listOf(value, (item) => (isString(item) ? item : undefined))

/** The optional fields of a record that have the right type. */
export function validFields<Value, Name extends string>(
  record: Record<string, unknown>,
  isValue: (value: unknown) => value is Value,
  ...names: readonly Name[]
): Partial<Record<Name, Value>> {
  const fields: Partial<Record<Name, Value>> = {}
  for (const name of names) {
    const value = record[name]
    if (isValue(value)) fields[name] = value
  }
  return fields
}

const isTrue = (value: unknown): value is true => value === true

/** Undefined for an invalid claim: it must not lock the workspace for ever. */
function parseClaim(value: unknown): Claim | undefined {
  if (!isRecord(value) || !isString(value.session_id) || !isString(value.clock)) return undefined
  const { session_id, clock, acquired_at, until, until_wall, fence } = value
  if (!isNumber(acquired_at) || !isNumber(until) || !isNumber(until_wall) || !isCount(fence)) return undefined
  const paths = strings(value.paths)
  const ancestors = strings(value.ancestors)
  const origin = parseOrigin(value.origin)
  return {
    session_id,
    holders: listOf(value.holders, parseIdentity),
    paths: paths.length === 0 ? [...wholeWorkspace] : paths,
    mode: value.mode === 'shared' ? 'shared' : 'exclusive',
    fence,
    first_fence: isCount(value.first_fence) ? value.first_fence : fence,
    acquired_at,
    clock,
    until,
    until_wall,
    ...validFields(value, isTrue, 'narrowed'),
    ...validFields(value, isNumber, 'ticks', 'ends'),
    ...validFields(value, isString, 'purpose'),
    ...(origin && { origin }),
    ...(ancestors.length > 0 && { ancestors }),
  }
}

export function parseOrigin(value: unknown): ClaimOrigin | undefined {
  if (!isRecord(value)) return undefined
  const { path, size } = isRecord(value.transcript) ? value.transcript : {}
  return {
    ...validFields(value, isString, 'agent', 'terminal', 'tmux_pane', 'hostname', 'user', 'directory'),
    ...validFields(value, isString, 'prompt', 'command', 'variable'),
    ...(isString(path) && isCount(size) && { transcript: { path, size } }),
    ...validFields(value, isTrue, 'shared_process'),
  }
}

function parseBreak(value: unknown): BrokenClaim | undefined {
  if (!isRecord(value) || !isString(value.session_id)) return undefined
  const { fence, by, reason, at } = value
  return {
    session_id: value.session_id,
    fence: isNumber(fence) ? fence : 0,
    by: isString(by) ? by : '',
    reason: isString(reason) ? reason : null,
    at: isNumber(at) ? at : 0,
  }
}
