import { StintError } from '../errors/stint-error.ts'

const unitMs: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}

/** The spellings of each unit, in any case except `M` alone, which could be minutes or months. */
const unitNames: Readonly<Record<string, string>> = {
  ms: 'ms msec msecs millisecond milliseconds',
  s: 's sec secs second seconds',
  m: 'm min mins minute minutes',
  h: 'h hr hrs hour hours',
  d: 'd day days',
  w: 'w week weeks',
}

const unitOf = (name: string): string | undefined =>
  Object.keys(unitNames).find((unit) => unitNames[unit]?.split(' ').includes(name))

const bareNumber = /^(?:\d+(?:\.\d+)?|\.\d+)$/
const part = /(\d+(?:\.\d+)?|\.\d+)\s*([a-zA-Z]+)\s*/y

/**
 * Parses a duration to milliseconds: `300ms`, `5m`, `1h30m`, `1h 30m`, `.5s`, `2 weeks`; a bare number is
 * seconds, as in `timeout(1)`. Undefined if the string is not a duration.
 */
export function parseDuration(text: string): number | undefined {
  const trimmed = text.trim()
  if (bareNumber.test(trimmed)) return bounded(Number(trimmed) * 1000)
  let total = 0
  part.lastIndex = 0
  while (part.lastIndex < trimmed.length) {
    const [, count, word = ''] = part.exec(trimmed) ?? []
    const unit = word === 'M' ? undefined : unitOf(word.toLowerCase())
    if (unit === undefined) return undefined
    total += Number(count) * (unitMs[unit] ?? Number.NaN)
  }
  return trimmed === '' ? undefined : bounded(total)
}

/**
 * Converts a duration option of the library to milliseconds: a number is milliseconds, a string needs a unit,
 * because bare digits could be seconds or milliseconds. `name` is the option's name, for the error.
 */
export function durationMs(value: string | number, name: string): number {
  const ms = typeof value === 'string' && !bareNumber.test(value.trim()) ? parseDuration(value) : value
  if (typeof ms === 'number' && ms >= 0) return ms
  throw new StintError('ARG_ERROR', `${name} is not a duration: ${JSON.stringify(value)}`, {
    hint:
      typeof ms === 'string'
        ? `Add a unit, as in ${ms.trim()}s or ${ms.trim()}ms, or pass a number of milliseconds.`
        : durationHint(String(value)),
  })
}

/** A hint for a string that is not a duration. */
export function durationHint(text: string): string {
  const minutes = /[\d.]+\s*M(?![a-zA-Z])/.test(text)
    ? text.trim().replaceAll(/M(?![a-zA-Z])/g, 'm')
    : undefined
  return minutes !== undefined && parseDuration(minutes) !== undefined
    ? `Minutes are a small m: ${minutes}.`
    : 'Write it as 300ms, 30s, 5m or 1h30m.'
}

const bounded = (ms: number): number | undefined =>
  ms <= Number.MAX_SAFE_INTEGER ? Math.round(ms) : undefined

/** Formats a duration in its shortest exact form: `90000` → `1m30s`. */
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

/** Limits a delay to what a timer can count: with more than 2^31 ms it would fire at once. */
export const timerMs = (ms: number): number => Math.min(ms, 2 ** 31 - 1)
