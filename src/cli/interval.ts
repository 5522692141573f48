import type { OptionTable } from '../command/option.ts'
import { StintError } from '../base/errors/stint-error.ts'

/** The option of commands that refresh what they show. */
export const intervalOption = {
  interval: { type: 'duration', value: 'D', help: 'time between two updates (2s), at least 50ms' },
} as const satisfies OptionTable

const defaultIntervalMs = 2000
const leastIntervalMs = 50

/** Returns the interval in milliseconds. */
export function readInterval(given: number | undefined): number {
  if (given === undefined || given >= leastIntervalMs) return given ?? defaultIntervalMs
  throw new StintError('ARG_ERROR', `--interval must be at least ${leastIntervalMs}ms`)
}
