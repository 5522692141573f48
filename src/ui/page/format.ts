import { visibleLines, visibleText } from '../../base/text/escape.ts'
import type { ClaimActivity } from '../server/protocol.ts'

export { formatBytes } from '../../base/text/size.ts'

/** Text of others in one line: what would be hidden or reverse its surroundings is shown as an escape. */
export const shown = (text: string, maxLength = 300): string => visibleText(text, maxLength)

/** Text of others that may have lines. */
export const shownLines = (text: string, maxLength = 20_000): string =>
  visibleLines(text.length > maxLength ? `${text.slice(0, maxLength)}…` : text)

/** A count, with its thousands apart. The first use of a locale would take longer than a page of text. */
export const shownCount = (count: number): string => String(count).replaceAll(/\B(?=(?:\d{3})+$)/g, ',')

/** `1 record`, `1,204 records`. */
export const countOf = (count: number, noun: string): string =>
  `${shownCount(count)} ${noun}${count === 1 ? '' : 's'}`

const units = [
  { ms: 86_400_000, name: 'd' },
  { ms: 3_600_000, name: 'h' },
  { ms: 60_000, name: 'm' },
  { ms: 1000, name: 's' },
]

/** A duration in its two largest units: `3h 12m`, `45s`; below a second in milliseconds. */
export function shortDuration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))}ms`
  const first = units.findIndex((unit) => ms >= unit.ms)
  const [large, small] = [units[first], units[first + 1]]
  if (large === undefined) return '0s'
  const rest = small === undefined ? 0 : Math.floor((ms % large.ms) / small.ms)
  const head = `${Math.floor(ms / large.ms)}${large.name}`
  return small === undefined || rest === 0 ? head : `${head} ${rest}${small.name}`
}

/** An age in its largest unit, so that the text rarely changes its width: `now`, `12s`, `5m`, `3h`, `2d`. */
export function shortAge(ms: number): string {
  const unit = units.find((each) => ms >= each.ms)
  return unit === undefined ? 'now' : `${Math.floor(ms / unit.ms)}${unit.name}`
}

/** A time with its day, as `2026-11-17 09:30:00`. */
export function exactTime(at: number): string {
  const time = new Date(at)
  const [date, clock] = new Date(at - time.getTimezoneOffset() * 60_000).toISOString().split(/[T.]/)
  return `${date} ${clock}`
}

/** A time of today as `14:03:07`, another day with its date. */
export function clockTime(at: number, now: number): string {
  const time = new Date(at).toLocaleTimeString('en-GB')
  return new Date(at).toDateString() === new Date(now).toDateString() ? time : `${dayOf(at)} ${time}`
}

const dayOf = (at: number): string =>
  new Date(at).toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })

/** The middle of a long id or path is left out. */
export function shortened(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text
  const tail = Math.floor((maxLength - 1) / 2)
  return `${text.slice(0, maxLength - 1 - tail)}…${text.slice(text.length - tail)}`
}

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
