import type { ClaimActivity } from '../protocol.ts'
import { shortDuration, shortened, shown } from './format.ts'

/** A party as people know it: its agent and the end of its id, which is the part that differs. */
export const partyName = (id: string, agent?: string | null): string =>
  [agent, shortened(id, 14)]
    .filter((part) => part !== undefined && part !== null)
    .map((part) => shown(part))
    .join(' ')

/** Paths in words: `all of it`, or the first ones. */
export function pathsText(paths: readonly string[]): string {
  if (paths.length === 0 || paths.includes('**')) return 'all of it'
  const [first = '', ...rest] = paths
  return rest.length === 0 ? shown(first, 80) : `${shown(first, 80)} and ${rest.length} more`
}

/** An activity in a sentence, for the page: who, what, and who was in the way. */
export function activitySentence(activity: ClaimActivity): string {
  const { kind, session_id, origin, paths, by, reason, held_ms } = activity
  const party = partyName(session_id, origin?.agent)
  const what = pathsText(paths)
  const other = by === undefined ? 'another session' : partyName(by)
  const held = held_ms === undefined ? '' : ` after ${shortDuration(held_ms)}`
  switch (kind) {
    case 'grant':
      return `${party} got ${what}`
    case 'wait':
      return `${party} waits for ${what}, held by ${other}`
    case 'refusal':
      return `${party} may not change ${what}: ${other} holds it`
    case 'takeover':
      return `${other} took ${what} over from ${party}${held}`
    case 'release':
      return `${party} released ${what}${held}`
    case 'break':
      return `${other} broke the claim of ${party} on ${what}${reason === undefined ? '' : `: ${shown(reason)}`}`
    case 'late':
      return `${party} ran a call in ${what} although ${other} had got it`
  }
}
