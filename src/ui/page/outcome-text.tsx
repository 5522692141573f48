import type { ActRow } from '../protocol.ts'
import { shortDuration, shown } from './format.ts'

/** The state of an act: done, failed, or without an outcome. */
export const actState = ({ type, outcome }: ActRow): 'note' | 'late' | 'ok' | 'failed' => {
  if (type === 'note') return 'note'
  if (outcome === null) return 'late'
  return outcome.ok ? 'ok' : 'failed'
}

/** How an act ended, and how long it took. */
export function OutcomeText({ act, isHeld }: { act: ActRow; isHeld: boolean }) {
  const state = actState(act)
  const { error = null, duration_ms = 0 } = act.outcome ?? {}
  const texts = {
    note: 'Note',
    late: isHeld ? 'No outcome yet' : 'No outcome',
    ok: 'Done',
    failed: error === null ? 'Failed' : `Failed: ${shown(error)}`,
  }
  return (
    <span class="outcome" data-state={state}>
      <span class="cut">{texts[state]}</span>
      {act.outcome !== null && <span class="dim">{shortDuration(duration_ms)}</span>}
    </span>
  )
}
