import { signal } from '@preact/signals'
import type { NowView } from '../protocol.ts'
import { readOnly } from './actions.tsx'
import { addressOf } from './api.ts'
import { follow } from './live.ts'

/** What every session does now, pushed by the server; undefined until the first message. */
export const now = signal<NowView | undefined>(undefined)

/** How many sessions need a person. */
export const needsPerson = ({ totals }: NowView): number => totals['waits-for-you'] + totals.crashed

/** Follows what every session does. The server sends no view again that this page has. */
export const followNow = (): (() => void) =>
  follow<NowView>(() => addressOf('/api/now/stream', { seen: now.peek()?.at }), showNow)

/** Shows what every session does; the title of the tab has the number of those that wait for a person. */
export function showNow(view: NowView): void {
  now.value = view
  readOnly.value = view.read_only
  const count = view.totals['waits-for-you']
  document.title = count === 0 ? 'stint' : `(${count}) stint`
}
