const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/**
 * Milliseconds of a duration written as people write it: `300ms`, `5m`, `1h30m`, `1.5s`; a bare number is
 * seconds, as in `timeout(1)`. Undefined if it is not one.
 */
export function parseDuration(text: string): number | undefined {
  if (/^\d+(\.\d+)?$/.test(text)) return bounded(Number(text) * 1000)
  if (!/^(\d+(\.\d+)?(ms|s|m|h|d))+$/.test(text)) return undefined
  let total = 0
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)) {
    total += Number(amount) * (unitMs[unit ?? ''] ?? Number.NaN)
  }
  return bounded(total)
}

const bounded = (ms: number): number | undefined =>
  ms <= Number.MAX_SAFE_INTEGER ? Math.round(ms) : undefined

/** The shortest exact way to write a duration: `90000` → `1m30s`. */
export function formatDuration(ms: number): string {
  let rest = Math.max(0, Math.round(ms))
  let text = ''
  for (const unit of ['d', 'h', 'm', 's', 'ms']) {
    const size = unitMs[unit] ?? 1
    const count = Math.floor(rest / size)
    rest -= count * size
    if (count > 0) text += `${count}${unit}`
  }
  return text || '0s'
}

/** What a timer can count: given more than 2^31 ms, it would fire at once. */
export const timerMs = (ms: number): number => Math.min(ms, 2 ** 31 - 1)
