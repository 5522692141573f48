import type { ClaimActivity } from '../protocol.ts'
import { shortDuration, shortened, shown } from './format.ts'

/** A party as people know it: its agent and the end of its id, which is the part that differs. */
export const partyName = (id: string, agent?: string | null): string =>
  [agent, shortened(id, 14)]
    .filter((part) => part !== undefined && part !== null)
    .map((part) => shown(part))
    .join(' ')

/** What a claim is on: the last part of the workspace's name, or the paths in it. */
export function whatText(paths: readonly string[], name: string): string {
  const place = shown(name.slice(name.lastIndexOf('/') + 1) || name, 60)
  if (paths.length === 0 || paths.includes('**')) return place
  // Outside of repositories, paths are absolute.
  if (paths[0]?.startsWith('/')) return firstPathText(paths)
  return `${firstPathText(paths)} in ${place}`
}

/** The first path, and how many more there are. */
export function firstPathText([first = '', ...rest]: readonly string[]): string {
  return rest.length === 0 ? shown(first, 80) : `${shown(first, 80)} and ${rest.length} more`
}

/** An activity in a workspace of this name in a sentence: who, what, and who was in the way. */
export function activitySentence(activity: ClaimActivity, name: string): string {
  const { kind, session_id, origin, paths, by, reason, held_ms } = activity
  const party = partyName(session_id, origin?.agent)
  const what = whatText(paths, name)
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
  }
}
