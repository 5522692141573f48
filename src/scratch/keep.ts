/** What happens to a scratch when its run ends. */
export type Keep = 'never' | 'on-failure' | 'always'

export const keepPolicies: readonly Keep[] = ['never', 'on-failure', 'always']

export const isKeep = (value: unknown): value is Keep => keepPolicies.includes(value as Keep)

/** How many kept scratches survive a sweep: the newest. */
export const keptScratches = 10

export const shouldKeep = (policy: Keep, failed: boolean): boolean =>
  policy === 'always' || (policy === 'on-failure' && failed)
