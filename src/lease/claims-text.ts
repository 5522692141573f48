import { parseIdentity } from '../base/process/liveness.ts'
import { isNumber, isRecord } from '../base/text/fields.ts'
import {
  type BrokenClaim,
  type Call,
  type Claim,
  type ClaimsRecord,
  defaultBusyTtlMs,
  defaultTtlMs,
  type ClaimHolder,
  maxTtlMs,
  noClaims,
  wholeWorkspace,
} from './claim.ts'
import type { Now } from './register.ts'

/**
 * As text. Usually there is one claim, and what changes in it are a few numbers: they come first, on a line of their own, so that a register need
 * not write the rest again. Without claims there is only a line. Anything else is plain JSON. `by`, the writer and how many it has written,
 * makes each text unlike all others.
 */
export function writeClaims(claims: ClaimsRecord, by: { writer: string; count: number }): string {
  const [claim, second] = claims.claims
  const count = by.count.toString(36)
  if (second !== undefined || claims.breaks.length > 0) return JSON.stringify({ ...claims, ...by })
  if (claim === undefined) return `free ${claims.generation} ${claims.boot} ${by.writer} ${count}`
  const { refreshed_at, mono, acquired_at, fence, first_fence, ...constant } = claim
  const numbers = [refreshed_at, mono, refreshed_at - acquired_at, fence, fence - first_fence]
  if (!numbers.every((number) => Number.isSafeInteger(number) && number >= 0))
    return JSON.stringify({ ...claims, ...by })
  const line = numbers.map((number) => number.toString(36)).join(' ')
  return `${line} ${count}\n${JSON.stringify({ ...claims, claims: [constant], writer: by.writer })}`
}

/** Undefined if the text is none of ours, or of a later version. `workspace`: whose it is, if it does not say. */
export function parseClaims(text: string, workspace: string): ClaimsRecord | undefined {
  if (text.startsWith('free ')) return parseFree(text, workspace)
  const value = text.startsWith('{') ? parseJson(text) : parseHeld(text)
  if (!isRecord(value) || value.schema_version !== 1) return undefined
  return {
    schema_version: 1,
    workspace: textOr(value.workspace, workspace),
    generation: generationOr0(value.generation),
    boot: textOr(value.boot, ''),
    claims: listOf(value.claims, parseClaim),
    breaks: listOf(value.breaks, parseBreak),
  }
}

/**
 * Stands in for a record that this version cannot parse. One from before this boot is what a power loss left, and holds
 * nothing. Any other may be a later version's: it blocks as long as a claim of the time it was written would. Its
 * generation is lost, so the wall clock gives a higher one.
 */
export function unreadableClaims(
  workspace: string,
  boot: string,
  now: Now,
  writtenAt: number | undefined,
): ClaimsRecord {
  const empty = { ...noClaims(workspace), boot, generation: Math.floor(now.wall / 60_000) }
  // Monotonic time counts from the boot, less a laptop's sleep: the result may be too late, never too early.
  const bootedAt = now.wall - now.mono
  if (writtenAt === undefined || writtenAt < bootedAt) return empty
  const claim = { session_id: '(a record this version cannot read)', acquired_at: writtenAt, detached: true }
  return { ...empty, claims: listOf([claim], parseClaim) }
}

function parseFree(text: string, workspace: string): ClaimsRecord | undefined {
  const [, generation, boot] = /^free (\d{1,15}) (\S*) /.exec(text) ?? []
  if (boot === undefined) return undefined
  return { ...noClaims(workspace), generation: Number(generation), boot }
}

/** The numbers of the first line, back in the claim of the second. */
function parseHeld(text: string): unknown {
  const end = text.indexOf('\n')
  const value = end < 0 ? undefined : parseJson(text.slice(end + 1))
  if (!isRecord(value) || !Array.isArray(value.claims) || !isRecord(value.claims[0])) return undefined
  const [refreshed = 0, mono, since = 0, fence = 0, widened = 0] = text
    .slice(0, end)
    .split(' ')
    .map((number) => Number.parseInt(number, 36))
  const times = { refreshed_at: refreshed, mono, acquired_at: refreshed - since }
  return { ...value, claims: [{ ...value.claims[0], ...times, fence, first_fence: fence - widened }] }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A fence is made of it: a number that has grown too large to count by is none. */
const generationOr0 = (value: unknown): number =>
  Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) < 2 ** 32 ? (value as number) : 0

const listOf = <Item>(value: unknown, parse: (item: unknown) => Item | undefined): Item[] =>
  Array.isArray(value) ? value.flatMap((item) => parse(item) ?? []) : []

/** A claim that cannot be understood is no claim: it must never lock anybody out for good. */
function parseClaim(value: unknown): Claim | undefined {
  if (!isRecord(value) || typeof value.session_id !== 'string' || !isNumber(value.acquired_at))
    return undefined
  const paths = Array.isArray(value.paths) ? value.paths.filter((path) => typeof path === 'string') : []
  const fence = numberOr(value.fence, 0)
  return {
    session_id: value.session_id,
    pid: isNumber(value.pid) ? value.pid : null,
    acquired_at: value.acquired_at,
    ttl_ms: Math.min(maxTtlMs, numberOr(value.ttl_ms, defaultTtlMs)),
    busy_ttl_ms: Math.min(maxTtlMs, numberOr(value.busy_ttl_ms, defaultBusyTtlMs)),
    refreshed_at: numberOr(value.refreshed_at, value.acquired_at),
    mono: numberOr(value.mono, 0),
    clock: textOr(value.clock, ''),
    paths: paths.length === 0 ? [...wholeWorkspace] : paths,
    mode: value.mode === 'shared' ? 'shared' : 'exclusive',
    fence,
    first_fence: numberOr(value.first_fence, fence),
    purpose: typeof value.purpose === 'string' ? value.purpose : null,
    narrowed: value.narrowed === true,
    detached: value.detached === true,
    holders: listOf(value.holders, parseHolder),
  }
}

function parseBreak(value: unknown): BrokenClaim | undefined {
  if (!isRecord(value) || typeof value.session_id !== 'string') return undefined
  return {
    session_id: value.session_id,
    fence: numberOr(value.fence, 0),
    by: textOr(value.by, ''),
    reason: typeof value.reason === 'string' ? value.reason : null,
    at: numberOr(value.at, 0),
  }
}

function parseHolder(value: unknown): ClaimHolder | undefined {
  const identity = parseIdentity(value)
  if (identity === undefined || !isRecord(value)) return undefined
  return { ...identity, calls: listOf(value.calls, parseCall) }
}

function parseCall(value: unknown): Call | undefined {
  if (!isRecord(value) || typeof value.id !== 'string') return undefined
  return { id: value.id, since: numberOr(value.since, 0) }
}

const numberOr = (value: unknown, other: number): number => (isNumber(value) ? value : other)
const textOr = (value: unknown, other: string): string => (typeof value === 'string' ? value : other)
