import type { OptionTable } from '../command/define-command.ts'
import { StintError } from '../base/errors/stint-error.ts'

/** The option of commands that refresh what they show. */
export const intervalOption = {
  interval: { type: 'duration', value: 'D', help: 'time between two updates (2s), at least 50ms' },
} as const satisfies OptionTable

/** The options of commands that show their answer once, or again and again. */
export const watchOptions = {
  watch: { type: 'boolean', help: 'keep it up to date; in a pipe, print a block for each change' },
  ...intervalOption,
} as const satisfies OptionTable

const defaultIntervalMs = 2000
const leastIntervalMs = 50

/** Returns the interval in milliseconds. */
export function readInterval(given: number | undefined): number {
  if (given === undefined || given >= leastIntervalMs) return given ?? defaultIntervalMs
  throw new StintError('ARG_ERROR', `--interval must be at least ${leastIntervalMs}ms`)
}

/** Returns the interval in milliseconds; undefined if the answer is shown only once. */
export function readWatch({ watch, interval }: { watch: boolean; interval?: number }): number | undefined {
  if (watch) return readInterval(interval)
  if (interval !== undefined) throw new StintError('ARG_ERROR', '--interval goes with --watch')
  return undefined
}
