import type { TreeSize } from '../../base/fs/measure-tree.ts'

/** How much there may be. */
export interface Budget {
  maxBytes: number | undefined
  maxFiles: number | undefined
}

export type BudgetLevel = 'within' | 'near' | 'over'

/** From here on it is worth a word. */
const nearShare = 0.8

export function budgetLevel(
  size: Pick<TreeSize, 'bytes' | 'files'>,
  { maxBytes, maxFiles }: Budget,
): BudgetLevel {
  const isPast = (share: number): boolean =>
    (maxBytes !== undefined && size.bytes > maxBytes * share) ||
    (maxFiles !== undefined && size.files > maxFiles * share)
  return isPast(1) ? 'over' : isPast(nearShare) ? 'near' : 'within'
}
