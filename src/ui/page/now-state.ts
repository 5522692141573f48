import { signal } from '@preact/signals'
import type { NowView } from '../protocol.ts'
import { readOnly } from './actions.tsx'
import { follow } from './live.ts'

/** What every session does now, pushed by the server; undefined until the first message. */
export const now = signal<NowView | undefined>(undefined)

/** How many sessions need a person. */
export const needsPerson = ({ totals }: NowView): number => totals['waits-for-you'] + totals.crashed

/** Follows the server, and keeps the number of sessions that need a person in the title of the tab. */
export function followNow(): () => void {
  return follow<NowView>(
    () => '/api/now/stream',
    (message) => {
      now.value = message
      readOnly.value = message.read_only
      const count = message.totals['waits-for-you']
      document.title = count === 0 ? 'stint' : `(${count}) stint`
    },
  )
}
