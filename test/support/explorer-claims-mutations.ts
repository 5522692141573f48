import type { Claim } from '../../src/lease/claim.ts'
import type { Observation } from '../../src/lease/force.ts'
import type { LeaseStore, Now } from '../../src/lease/register.ts'
import { decideRenew, type EndTurnRequest, type RenewRequest } from '../../src/lease/own-claims.ts'
import { type AcquireAnswer, type AcquireRequest, decideAcquire } from '../../src/lease/rules.ts'
import { type Decided, WorkspaceClaims } from '../../src/lease/workspace-claims.ts'
import { brokenAcquires, type PartyMutation } from './broken-parties.ts'

/** Ways to break claims, each of which the explorer must find. */
export type ClaimsMutation =
  | 'age on the wall clock'
  | 'a renewal that takes back'
  | 'a taker that ignores a renewal'
  | 'processes that do not count'
  | 'an end of turn that ignores processes'
  | 'a prompt that does not renew'
  | PartyMutation

type Observe = (now: Now) => Observation

/** Claims on the explorer's workspace, which see its machine. */
class ExploredClaims extends WorkspaceClaims {
  readonly #observe: Observe

  constructor(store: LeaseStore, observe: Observe) {
    super(store, { key: 'key', name: '/workspace', path: '/workspace', whole: ['**'] })
    this.#observe = observe
  }

  protected override observe(now: Now): Observation {
    return this.#observe(now)
  }
}

/** Takes any claim for the session's own. */
class TakingBack extends ExploredClaims {
  override renew(request: RenewRequest): Promise<Decided<{ claim?: Claim }>> {
    const { sessionId: session_id, firstFence: first_fence = 0 } = request
    return this.change((record, observation) => {
      const claims = record.claims.map((claim) => ({ ...claim, session_id, first_fence }))
      return decideRenew({ ...record, claims }, request, observation)
    })
  }
}

/** Having seen that a claim was over, ignores that its session has renewed it since. */
class Ignoring extends ExploredClaims {
  override tryAcquire(request: AcquireRequest): Promise<Decided<AcquireAnswer>> {
    const over = new Set<string>()
    return this.change((record, observation, fence) => {
      const claims = record.claims.filter(({ session_id }) => !over.has(session_id))
      const decision = decideAcquire({ ...record, claims }, request, observation, fence)
      if (decision.answer.granted) for (const { session_id } of decision.answer.tookOver) over.add(session_id)
      return decision
    })
  }
}

class EndingAtOnce extends ExploredClaims {
  override endTurn(request: EndTurnRequest): Promise<Decided<void>> {
    return this.change((record) => {
      const claims = record.claims.filter(({ session_id }) => session_id !== request.sessionId)
      return { next: { ...record, claims }, answer: undefined }
    })
  }
}

class WithoutOrigin extends ExploredClaims {
  override renew(request: RenewRequest): Promise<Decided<{ claim?: Claim }>> {
    return super.renew({ ...request, origin: undefined })
  }
}

class WithBrokenParties extends ExploredClaims {
  readonly #mutation: PartyMutation

  constructor(store: LeaseStore, observe: Observe, mutation: PartyMutation) {
    super(store, observe)
    this.#mutation = mutation
  }

  override tryAcquire(request: AcquireRequest): Promise<Decided<AcquireAnswer>> {
    return this.change((record, observation, fence) =>
      brokenAcquires[this.#mutation](record, request, observation, fence),
    )
  }
}

export function claimsWith(
  mutation: ClaimsMutation | undefined,
  store: LeaseStore,
  observe: Observe,
): WorkspaceClaims {
  switch (mutation) {
    case undefined:
    case 'age on the wall clock':
      return new ExploredClaims(store, observe)
    case 'a renewal that takes back':
      return new TakingBack(store, observe)
    case 'a taker that ignores a renewal':
      return new Ignoring(store, observe)
    case 'processes that do not count':
      return new ExploredClaims(store, (now) => ({ ...observe(now), work: () => [] }))
    case 'an end of turn that ignores processes':
      return new EndingAtOnce(store, observe)
    case 'a prompt that does not renew':
      return new WithoutOrigin(store, observe)
    default:
      return new WithBrokenParties(store, observe, mutation)
  }
}
