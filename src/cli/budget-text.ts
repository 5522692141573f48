import { type Budget, type BudgetLevel, budgetLevel } from '../sweep/inventory/budget.ts'
import type { TreeSize } from '../base/fs/measure-tree.ts'
import { formatBytes } from '../base/text/size.ts'

type Size = Pick<TreeSize, 'bytes' | 'files'>

/** `1.2 MiB of 1.0 MiB, 3 of 10 files`: as far as there are limits. */
export function describeUse({ bytes, files }: Size, { maxBytes, maxFiles }: Budget): string {
  return [
    maxBytes === undefined ? '' : `${formatBytes(bytes)} of ${formatBytes(maxBytes)}`,
    maxFiles === undefined ? '' : `${files} of ${maxFiles} files`,
  ]
    .filter((part) => part !== '')
    .join(', ')
}

const sentences: Record<BudgetLevel, string | undefined> = {
  within: undefined,
  near: 'BUDGET: over 80 % of what there may be',
  over: 'BUDGET: more than there may be',
}

/** Warns when the budget is used up, or nearly. */
export function warnOfBudget(size: Size, budget: Budget | undefined, warn: (message: string) => void): void {
  const sentence = budget && sentences[budgetLevel(size, budget)]
  if (budget && sentence) warn(`${sentence}: ${describeUse(size, budget)}`)
}
