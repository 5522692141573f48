import type { OptionTable } from '../command/option.ts'
import type { Budget } from '../sweep/inventory/budget.ts'

export const budgetOptions = {
  'max-bytes': { type: 'size', value: 'SIZE', help: 'warn above this size, or near it' },
  'max-files': { type: 'count', value: 'N', help: 'warn above this number of files, or near it' },
} as const satisfies OptionTable

/** The budget that options set; undefined if they set none. */
export function budgetOf(
  options: Record<keyof typeof budgetOptions, number | undefined>,
): Budget | undefined {
  const budget = { maxBytes: options['max-bytes'], maxFiles: options['max-files'] }
  return budget.maxBytes === undefined && budget.maxFiles === undefined ? undefined : budget
}
