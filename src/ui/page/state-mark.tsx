interface Look {
  label: string
  /** A colour of the stylesheet. */
  tone: 'green' | 'orange' | 'yellow' | 'blue' | 'red' | 'dim'
  /** The path of its shape in a square of 12 units, and whether it is filled. */
  path: string
  isFull?: boolean
}

const check = 'M2 6.5 5 9.5 10 3'
const cross = 'M2 2 10 10M10 2 2 10'
const circle = 'M10 6A4 4 0 1 1 2 6a4 4 0 0 1 8 0Z'
const diamond = 'M6 1 11 6 6 11 1 6Z'
const hourglass = 'M2.5 1.5h7L6 6l3.5 4.5h-7L6 6Z'
const triangle = 'M6 1.5 11 10.5H1ZM6 5v2'

/** A state is a colour, a shape and a word: none of them is needed to tell it. */
const looks: Readonly<Record<string, Look>> = {
  crashed: { label: 'Crashed', tone: 'red', path: cross },
  waiting: { label: 'Waiting', tone: 'yellow', path: hourglass },
  working: { label: 'Working', tone: 'green', path: circle, isFull: true },
  background: { label: 'Background', tone: 'blue', path: 'M6 2a4 4 0 1 1-4 4M6 6h.01' },
  idle: { label: 'Idle', tone: 'dim', path: circle },
  active: { label: 'Active', tone: 'green', path: circle, isFull: true },
  closed: { label: 'Closed', tone: 'dim', path: check },
  locked: { label: 'Locked', tone: 'yellow', path: 'M2.5 6h7v4.5h-7ZM4 6V4a2 2 0 0 1 4 0v2' },
  damaged: { label: 'Damaged', tone: 'red', path: triangle },
  ok: { label: 'Done', tone: 'green', path: check },
  failed: { label: 'Failed', tone: 'red', path: cross },
  grant: { label: 'Granted', tone: 'green', path: check },
  wait: { label: 'Waited', tone: 'yellow', path: hourglass },
  refusal: { label: 'Refused', tone: 'yellow', path: `${circle}M3.2 8.8 8.8 3.2` },
  takeover: { label: 'Taken over', tone: 'red', path: 'M2 4h7L6.5 1.5M10 8H3l2.5 2.5' },
  release: { label: 'Released', tone: 'dim', path: circle },
  break: { label: 'Broken', tone: 'red', path: 'M7 1 3.5 6h5L5 11' },
  late: { label: 'Ran late', tone: 'orange', path: `${diamond}M6 4v2.2` },
  note: { label: 'Note', tone: 'blue', path: 'M2 2h8v6H6l-2.5 2.5V8H2Z' },
  kept: { label: 'Kept', tone: 'blue', path: 'M2 2h8v6H6l-2.5 2.5V8H2Z' },
  lost: { label: 'Lost', tone: 'orange', path: triangle },
  warn: { label: 'To do', tone: 'orange', path: triangle },
  fail: { label: 'Problem', tone: 'red', path: cross },
}

export const labelOf = (state: string): string => looks[state]?.label ?? state
/** The colour of a state, for the stylesheet. */
export const toneOf = (state: string) => ({ '--colour': `var(--${looks[state]?.tone ?? 'dim'})` })

export function Glyph({ state }: { state: string }) {
  return (
    <svg class="glyph" viewBox="0 0 12 12" aria-hidden="true" data-state={state} style={toneOf(state)}>
      <path class={looks[state]?.isFull === true ? 'full' : undefined} d={looks[state]?.path ?? circle} />
    </svg>
  )
}

export function StateMark({ state, label = labelOf(state) }: { state: string; label?: string }) {
  return (
    <span class="state" data-state={state} style={toneOf(state)}>
      <Glyph state={state} />
      {label}
    </span>
  )
}
