import type { Claim } from './claim.ts'

/** Does one path hold the other, or are they the same? A directory claims everything below it. */
export function pathsOverlap(a: readonly string[], b: readonly string[]): boolean {
  return a.some((one) => b.some((other) => covers(one, other) || covers(other, one)))
}

/** Is `inner` the path itself or below it? */
export const covers = (outer: string, inner: string): boolean =>
  outer === '**' || outer === inner || inner.startsWith(`${outer}/`)

/** Two claims conflict when their paths overlap and either wants them for itself. */
export const conflict = (a: Pick<Claim, 'paths' | 'mode'>, b: Pick<Claim, 'paths' | 'mode'>): boolean =>
  (a.mode === 'exclusive' || b.mode === 'exclusive') && pathsOverlap(a.paths, b.paths)

/** The fewest paths that say the same: what another covers is left out. */
export function union(a: readonly string[], b: readonly string[]): string[] {
  const all = [...new Set([...a, ...b])]
  return all.filter((path) => !all.some((other) => other !== path && covers(other, path))).sort()
}
