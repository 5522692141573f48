import { parseLinkTarget } from '../../src/lease/attachments.ts'
import type { Claim } from '../../src/lease/claim-record.ts'
import { parseClaimsRecord } from '../../src/lease/claim-record.ts'
import type { Directory } from './explorer-directory.ts'
import { type Outcome, ttlMs, workspace } from './explorer-session.ts'

/** What a session of the explorer should know about itself, and does not. */
export interface Fate {
  id: string
  /** Had it been robbed already when its operation began? */
  wasRobbed: boolean
  /** Was the last epoch that it created on top? */
  onTop: boolean
}

/** The truth: what the newest epoch says. */
export function claimsIn({ files, top }: Directory): Claim[] {
  const textOf = (name: string): string => files.find((file) => file[0] === name)?.[1] ?? ''
  const target = textOf(String(top))
  const attached = parseLinkTarget(target)
  const text = attached === undefined ? target : attached.firstLine + textOf(attached.name)
  return parseClaimsRecord(text, workspace)?.claims ?? []
}

export const holds = (id: string, truth: readonly Claim[]): boolean =>
  truth.some(({ session_id }) => session_id === id)

export const newFences = (before: readonly Claim[], after: readonly Claim[]): number[] =>
  after.map(({ fence }) => fence).filter((fence) => before.every((claim) => claim.fence !== fence))

/** What no session may ever be told. `truth`: at the end of its operation. */
export function wrong(
  { id, wasRobbed, onTop }: Fate,
  { operation, granted, refusedBy, refreshed, now }: Outcome,
  truth: readonly Claim[],
  dead: readonly string[],
): string | undefined {
  const isStale = ({ mono, session_id }: Claim): boolean =>
    now.mono - mono > ttlMs || dead.includes(session_id)
  const robbed = granted?.tookOver.find((claim) => !isStale(claim))
  if (robbed !== undefined) return `${id} took over the fresh claim of ${robbed.session_id}`
  if (granted !== undefined && !onTop) return `${id} was granted what was never the truth`
  if (refusedBy !== undefined && isStale(refusedBy)) return `${id} was refused for a claim that is stale`
  if (refreshed !== undefined && wasRobbed) return `${id} was robbed, and its refresh took the lease back`
  const isOver = operation !== 'acquire' && refreshed === undefined
  return isOver && holds(id, truth) ? `the claim of ${id} outlives its ${operation}` : undefined
}
