import type { OptionTable } from '../command/option.ts'
import type { TreeSize } from '../base/fs/measure-tree.ts'
import { formatBytes } from '../base/text/size.ts'

/** Limits on the contents of a directory; undefined means no limit. */
export interface Budget {
  maxBytes: number | undefined
  maxFiles: number | undefined
}

export const budgetOptions = {
  'max-bytes': { type: 'size', value: 'SIZE', help: 'warn above this size, or near it' },
  'max-files': { type: 'count', value: 'N', help: 'warn above this number of files, or near it' },
} as const satisfies OptionTable

/** The budget that the options set; undefined if they set none. */
export function readBudget(
  options: Record<keyof typeof budgetOptions, number | undefined>,
): Budget | undefined {
  const budget = { maxBytes: options['max-bytes'], maxFiles: options['max-files'] }
  return budget.maxBytes === undefined && budget.maxFiles === undefined ? undefined : budget
}

type Size = Pick<TreeSize, 'bytes' | 'disk_bytes' | 'files'>

/** The larger size: small files take more than their length, and some file systems count no blocks. */
export const countedBytes = ({ bytes, disk_bytes }: Size): number => Math.max(bytes, disk_bytes)

export type BudgetLevel = 'within' | 'near' | 'over'

/** The share of a budget above which stint warns. */
const nearShare = 0.8

export function budgetLevel(size: Size, { maxBytes, maxFiles }: Budget): BudgetLevel {
  const isPast = (share: number): boolean =>
    (maxBytes !== undefined && countedBytes(size) > maxBytes * share) ||
    (maxFiles !== undefined && size.files > maxFiles * share)
  return isPast(1) ? 'over' : isPast(nearShare) ? 'near' : 'within'
}

/** Formats the use of each limit that is set, as in `1.2 MiB of 1 MiB, 3 of 10 files`. */
export function describeUse(size: Size, { maxBytes, maxFiles }: Budget): string {
  return [
    maxBytes === undefined ? '' : `${formatBytes(countedBytes(size))} of ${formatBytes(maxBytes)}`,
    maxFiles === undefined ? '' : `${size.files} of ${maxFiles} files`,
  ]
    .filter((part) => part !== '')
    .join(', ')
}

const warnings: Record<BudgetLevel, string | undefined> = {
  within: undefined,
  near: 'BUDGET: over 80% of the budget',
  over: 'BUDGET: over budget',
}

/** Warns when the budget is used up, or nearly. */
export function warnOfBudget(size: Size, budget: Budget | undefined, warn: (message: string) => void): void {
  const warning = budget && warnings[budgetLevel(size, budget)]
  if (budget && warning) warn(`${warning}: ${describeUse(size, budget)}`)
}
