import type { Claim, ClaimsRecord } from '../../src/lease/claim.ts'
import { findAncestors } from '../../src/lease/party.ts'
import { decideAcquire } from '../../src/lease/rules.ts'

/** Ways to break the rule of parties, each of which a search must find. */
export type PartyMutation =
  | 'a party that does not know its ancestors'
  | 'siblings that do not exclude each other'

/** The decision about an acquire, with a broken rule. */
export const brokenAcquires: Record<PartyMutation, typeof decideAcquire> = {
  'a party that does not know its ancestors': (record, request, ...rest) =>
    decideAcquire(record, { ...request, descent: undefined }, ...rest),
  'siblings that do not exclude each other': (record, request, ...rest) => {
    const ancestors = findAncestors(record.claims, request) ?? []
    const isSibling = (claim: Claim): boolean =>
      claim.session_id !== request.sessionId && ancestors.some((id) => claim.ancestors?.includes(id))
    const hidden = record.claims.filter(isSibling)
    const shown = { ...record, claims: record.claims.filter((claim) => !isSibling(claim)) }
    const decision = decideAcquire(shown, request, ...rest)
    const next: ClaimsRecord | undefined = decision.next && {
      ...decision.next,
      claims: [...hidden, ...decision.next.claims],
    }
    return { ...decision, next }
  },
}
