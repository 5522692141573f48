import fc from 'fast-check'
import type { Claim, ClaimsRecord } from '../../src/lease/claim-record.ts'
import { decideAcquire, type AcquireRequest } from '../../src/lease/rules.ts'
import type { Observation } from '../../src/lease/claim-status.ts'
import type { Identity, Liveness } from '../../src/base/process/liveness.ts'

/** A process that nobody started: the rules know processes by their numbers. */
export const identity = (pid: number): Identity => ({
  pid,
  started: pid,
  boot: 'b',
  host: 'h',
  pidns: '1',
  timens: '1',
})

export const minute = 60_000
/** The time, in milliseconds after some moment; everybody lives, unless others say so. */
export const at = (ms: number, others: Partial<Observation> = {}): Observation => ({
  now: { wall: 1e12 + ms, mono: ms, clock: 'boot' },
  liveness: () => 'alive',
  ...others,
})

export const lives =
  (table: Record<number, Liveness>) =>
  ({ pid }: Identity): Liveness =>
    table[pid] ?? 'alive'

export const empty: ClaimsRecord = {
  schema_version: 1,
  workspace: '/w',
  generation: 0,
  boot: 'b',
  claims: [],
  breaks: [],
}
/** A request for the whole workspace; the process of a session has the number of its first letter. */
export const wants = (sessionId: string, more: Partial<AcquireRequest> = {}): AcquireRequest => ({
  sessionId,
  holder: identity(sessionId.charCodeAt(0)),
  paths: ['**'],
  mode: 'exclusive',
  ttlMs: 5 * minute,
  ...more,
})

/** The claims after a grant; fails if it is refused. */
export function granted(
  claims: ClaimsRecord,
  request: AcquireRequest,
  observation: Observation,
  fence = 1,
): ClaimsRecord {
  const { next, answer } = decideAcquire(claims, request, observation, fence)
  if (!answer.granted || next === undefined) throw new Error('refused')
  return next
}

export const isGranted = (claims: ClaimsRecord, request: AcquireRequest, observation: Observation): boolean =>
  decideAcquire(claims, request, observation, 99).answer.granted

/** The one claim there is. */
export const only = ({ claims }: ClaimsRecord): Claim => {
  const [claim, ...more] = claims
  if (claim === undefined || more.length > 0) throw new Error(`${claims.length} claims`)
  return claim
}

export const anyPath = fc
  .array(fc.constantFrom('a', 'b', 'ab'), { minLength: 1, maxLength: 3 })
  .map((parts) => parts.join('/'))
export const anyPaths = fc.oneof(fc.constant(['**']), fc.array(anyPath, { minLength: 1, maxLength: 3 }))
