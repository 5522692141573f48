/** How it stands with one thing. `warn`: it works, but not as well, or not for as long, as it could. `fail`: it does not work. */
export type Level = 'ok' | 'warn' | 'fail'

/** One thing that was looked at, and what came of it. */
export interface Check {
  /** What it is about: `home`, `clock`. */
  name: string
  level: Level
  /** What was found. */
  text: string
  /** What to do about it; null where there is nothing to do. */
  fix: string | null
}

export const fine = (name: string, text: string): Check => ({ name, level: 'ok', text, fix: null })
export const poor = (name: string, text: string, fix: string): Check => ({ name, level: 'warn', text, fix })
export const bad = (name: string, text: string, fix: string): Check => ({ name, level: 'fail', text, fix })

export const isFinding = ({ level }: Check): boolean => level !== 'ok'

export function countLevels(checks: readonly Check[]): Record<Level, number> {
  const counts = { ok: 0, warn: 0, fail: 0 }
  for (const { level } of checks) counts[level] += 1
  return counts
}
