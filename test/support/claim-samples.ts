import fc from 'fast-check'
import { type Claim, type ClaimsRecord, noClaims } from '../../src/lease/claim.ts'
import { decideAcquire, type AcquireRequest } from '../../src/lease/rules.ts'
import type { Observation, SessionProcess } from '../../src/lease/force.ts'
import type { Identity, Liveness } from '../../src/base/process/liveness.ts'

/** A process that does not exist: for the rules its numbers are enough. */
export const identity = (pid: number): Identity => ({
  pid,
  started: pid,
  boot: 'b',
  host: 'h',
  pidns: '1',
  timens: '1',
})

export const minute = 60_000
/** An observation, in milliseconds after a fixed moment; by default every process lives, and none works. */
export const at = (ms: number, overrides: Partial<Observation> = {}): Observation => ({
  now: { wall: 1e12 + ms, mono: ms, clock: 'boot' },
  liveness: () => 'alive',
  work: () => [],
  isTurnOver: () => false,
  ...overrides,
})

/** A process of a session, which has started after the grant a moment ago, and is no server. */
export const running = (more: Partial<SessionProcess> = {}): SessionProcess => ({
  pid: 4378,
  command: 'make',
  ageMs: 1,
  isSinceGrant: true,
  isServer: false,
  ...more,
})

export const lives =
  (table: Record<number, Liveness>) =>
  ({ pid }: Identity): Liveness =>
    table[pid] ?? 'alive'

export const empty: ClaimsRecord = noClaims('/w')

/** A request for the whole workspace; the pid of a session is the code of its first letter. */
export const wants = (sessionId: string, more: Partial<AcquireRequest> = {}): AcquireRequest => ({
  sessionId,
  holder: identity(sessionId.charCodeAt(0)),
  paths: ['**'],
  mode: 'exclusive',
  forMs: 5 * minute,
  ...more,
})

/** The record after a grant; throws if the request is refused. */
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

/** The only claim; throws if there are none or several. */
export const only = ({ claims }: ClaimsRecord): Claim => {
  const [claim, ...more] = claims
  if (claim === undefined || more.length > 0) throw new Error(`${claims.length} claims`)
  return claim
}

export const anyPath = fc
  .array(fc.constantFrom('a', 'b', 'ab'), { minLength: 1, maxLength: 3 })
  .map((parts) => parts.join('/'))
export const anyPaths = fc.oneof(fc.constant(['**']), fc.array(anyPath, { minLength: 1, maxLength: 3 }))
