import { homedir } from 'node:os'
import type { DiskSpace } from '../../base/fs/measure-tree.ts'
import { ifPossible } from '../../base/errors/if-possible.ts'
import type { OptionTable, OptionValues } from '../../command/define-command.ts'
import { truncate } from '../../base/text/wrap.ts'
import { formatDuration } from '../../base/text/duration.ts'
import { formatBytes } from '../../base/text/size.ts'

/** `1 orphan`, `2 orphans`. */
export const plural = (count: number, noun: string, nouns = `${noun}s`): string =>
  `${count} ${count === 1 ? noun : nouns}`

/** Sizes that differ by less are not worth a second figure. */
const leastDifference = 64 << 10

/** The length of files beside what the disk lost to them, where the two are far apart; otherwise empty. */
export function formatDataSize({ bytes, disk_bytes }: DiskSpace): string {
  const [less, more] = bytes < disk_bytes ? [bytes, disk_bytes] : [disk_bytes, bytes]
  return more - less >= leastDifference && more >= 1.25 * less ? formatBytes(bytes) : ''
}

/** `1.6 GiB`, what the disk lost; `1.6 GiB for 400 KiB of data` where the two are far apart. */
export function formatSpace(space: DiskSpace): string {
  const data = formatDataSize(space)
  return `${formatBytes(space.disk_bytes)}${data === '' ? '' : ` for ${data} of data`}`
}

/** An age in its two largest units: `2d 3h`. */
export function formatAge(ms: number): string {
  const grain = ms >= 86_400_000 ? 3_600_000 : ms >= 3_600_000 ? 60_000 : 1000
  return formatDuration(Math.floor(ms / grain) * grain)
}

/** The option of commands that show points in time. */
export const utcOption = {
  utc: { type: 'boolean', help: 'show times in UTC, not in local time' },
} as const satisfies OptionTable

export type Zone = OptionValues<typeof utcOption>

/** A point in time: `2026-11-16 09:20:00` where the user is, `2026-11-16 08:20:00Z` in UTC. */
export function formatTime(at: number, { utc }: Zone): string {
  if (utc) return new Date(at).toISOString().replace('T', ' ').replace(/\..*$/, 'Z')
  const offsetMs = new Date(at).getTimezoneOffset() * 60_000
  return formatTime(at - offsetMs, { utc: true }).slice(0, -1)
}

/** A path as people write it: `~/src` for a directory in their home directory. */
export function shortPath(path: string, home: string = ifPossible(homedir) ?? ''): string {
  if (home === '' || home === '/') return path
  return path === home || path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path
}

/** Shortens the paths in a sentence, and cuts those that are wider than `room` columns. */
export const shortenPaths = (sentence: string, room: number): string =>
  sentence
    .split(' ')
    .map((word) => truncate(shortPath(word), room, 'middle'))
    .join(' ')
