import { homedir } from 'node:os'
import { ifPossible } from '../../base/errors/if-possible.ts'
import { formatDuration } from '../../base/text/duration.ts'

/** `1 orphan`, `2 orphans`. */
export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`

/** An age in its two largest units: `2d 3h`. */
export function formatAge(ms: number): string {
  const grain = ms >= 86_400_000 ? 3_600_000 : ms >= 3_600_000 ? 60_000 : 1000
  return formatDuration(Math.floor(ms / grain) * grain)
}

/** A point in time: `2026-11-16 08:20:00Z`. */
export const formatTime = (at: number): string =>
  new Date(at).toISOString().replace('T', ' ').replace(/\..*$/, 'Z')

/** A path as people write it: `~/src` for a directory in their home directory. */
export function shortPath(path: string, home: string = ifPossible(homedir) ?? ''): string {
  if (home === '' || home === '/') return path
  return path === home || path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path
}
