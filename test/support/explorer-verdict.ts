import { parseLinkTarget } from '../../src/lease/attachments.ts'
import type { Claim } from '../../src/lease/claim-record.ts'
import { parseClaimsRecord } from '../../src/lease/claim-record.ts'
import type { Directory } from './explorer-directory.ts'
import { type Outcome, parent, ttlMs, workspace } from './explorer-session.ts'

/** Facts about a session that the explorer knows and the session itself may not. */
export interface SessionFacts {
  id: string
  /** Whether another session had taken its lease when its operation began. */
  hadLostLease: boolean
  /** Whether the last epoch that it created was on top at that moment. */
  onTop: boolean
}

/** The claims of the newest epoch. */
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

/** Finds a wrong answer to a session. `truth`: the claims at the end of its operation. */
export function findViolation(
  { id, hadLostLease, onTop }: SessionFacts,
  { operation, granted, refusedBy, refreshed, now }: Outcome,
  truth: readonly Claim[],
  dead: readonly string[],
): string | undefined {
  const isStale = ({ mono, session_id }: Claim): boolean =>
    now.mono - mono > ttlMs || dead.includes(session_id)
  const stolen = granted?.tookOver.find((claim) => !isStale(claim))
  if (stolen !== undefined) return `${id} took over the fresh claim of ${stolen.session_id}`
  if (granted !== undefined && !onTop) return `${id} was granted an epoch that was never current`
  if (refusedBy !== undefined && isStale(refusedBy)) return `${id} was refused because of a stale claim`
  if (refusedBy?.session_id === parent) return `${id} was refused because of its parent's claim`
  if (refreshed !== undefined && hadLostLease) return `${id} had lost its lease, and its refresh took it back`
  const isOver = operation !== 'acquire' && refreshed === undefined
  return isOver && holds(id, truth) ? `the claim of ${id} outlives its ${operation}` : undefined
}
