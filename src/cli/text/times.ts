import { formatDuration } from '../../base/text/duration.ts'

/** An age as exact as it need be: in two units. */
export function formatAge(ms: number): string {
  const grain = ms >= 86_400_000 ? 3_600_000 : ms >= 3_600_000 ? 60_000 : 1000
  return formatDuration(Math.floor(ms / grain) * grain)
}

/** A point in time: `2026-11-16 08:20:00Z`. */
export const timeText = (at: number): string =>
  new Date(at).toISOString().replace('T', ' ').replace(/\..*$/, 'Z')
