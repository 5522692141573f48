import type { Blobs } from '../../log/blobs.ts'
import { encodeBody, encodeEntry } from '../../log/codec.ts'
import { type FoldedState, slotType, turnType } from '../../state.ts'

/** What is known of lost records from a snapshot that was taken after them. */
export interface Restoration {
  slots: { ext: string; version: string; json: string }[]
  /** Ends of turns that were among them. */
  turns: number
}

/**
 * The difference between what the records that are left add up to and what a snapshot at the same position has. Slots that were set again after it need no
 * restoring.
 */
export function restorationOf(
  left: FoldedState,
  snapshot: FoldedState,
  setAgain: ReadonlySet<string>,
): Restoration {
  const slots: Restoration['slots'] = []
  for (const [ext, { version, value, broken }] of snapshot.slots) {
    if (broken !== undefined || setAgain.has(ext)) continue
    const json = JSON.stringify(value) ?? 'null'
    const now = left.slots.get(ext)
    if (now?.version !== version || JSON.stringify(now.value) !== json) slots.push({ ext, version, json })
  }
  return { slots, turns: Math.max(0, snapshot.turns - left.turns) }
}

/** The records that restore it, to be written after all others: a snapshot stays what the records add up to. */
export function restoringBodies({ slots, turns }: Restoration, blobs: Blobs): string[] {
  return [
    ...Array.from({ length: turns }, () => encodeBody(turnType, '{"restored":true}')),
    ...slots.map(({ ext, version, json }) =>
      encodeEntry({ type: slotType, json, slot: { ext, version } }, (text) => blobs.put(text)),
    ),
  ]
}
