import type { JSX } from 'preact'

interface Look {
  label: string
  tone: 'green' | 'orange' | 'yellow' | 'blue' | 'red' | 'dim'
  shape: JSX.Element
}

const check = <path d="M2 6.5 5 9.5 10 3" />
const cross = <path d="M2 2 10 10M10 2 2 10" />
const disc = <circle class="full" cx="6" cy="6" r="4" />
const ring = <circle cx="6" cy="6" r="4" />
const hourglass = <path d="M2.5 1.5h7L6 6l3.5 4.5h-7L6 6Z" />
const triangle = <path d="M6 1.5 11 10.5H1ZM6 5v2" />

/** A state is a colour, a shape and a word: none of them is needed to tell it. */
const looks: Readonly<Record<string, Look>> = {
  'waits-for-you': {
    label: 'Waits for you',
    tone: 'orange',
    shape: <path class="full" d="M6 1 11 6 6 11 1 6Z" />,
  },
  crashed: { label: 'Crashed', tone: 'red', shape: cross },
  waiting: { label: 'Waiting', tone: 'yellow', shape: hourglass },
  working: { label: 'Working', tone: 'green', shape: disc },
  background: { label: 'Background', tone: 'blue', shape: <path d="M6 2a4 4 0 1 1-4 4M6 6h.01" /> },
  idle: { label: 'Idle', tone: 'dim', shape: ring },
  active: { label: 'Active', tone: 'green', shape: disc },
  closed: { label: 'Closed', tone: 'dim', shape: check },
  locked: {
    label: 'Locked',
    tone: 'yellow',
    shape: <path d="M2.5 6h7v4.5h-7ZM4 6V4a2 2 0 0 1 4 0v2" />,
  },
  damaged: { label: 'Damaged', tone: 'red', shape: triangle },
  whole: { label: 'Whole', tone: 'green', shape: check },
  torn: { label: 'Torn tail', tone: 'yellow', shape: <path d="M2 3h8M2 6h5M2 9h2" /> },
  ok: { label: 'Done', tone: 'green', shape: check },
  failed: { label: 'Failed', tone: 'red', shape: cross },
  grant: { label: 'Granted', tone: 'green', shape: check },
  wait: { label: 'Waited', tone: 'yellow', shape: hourglass },
  refusal: {
    label: 'Refused',
    tone: 'yellow',
    shape: <path d="M10 6A4 4 0 1 1 2 6a4 4 0 0 1 8 0ZM3.2 8.8 8.8 3.2" />,
  },
  takeover: { label: 'Taken over', tone: 'red', shape: <path d="M2 4h7L6.5 1.5M10 8H3l2.5 2.5" /> },
  release: { label: 'Released', tone: 'dim', shape: ring },
  break: { label: 'Broken', tone: 'red', shape: <path d="M7 1 3.5 6h5L5 11" /> },
  late: { label: 'Ran late', tone: 'orange', shape: <path d="M6 1 11 6 6 11 1 6ZM6 4v2.2" /> },
  note: { label: 'Note', tone: 'blue', shape: <path d="M2 2h8v6H6l-2.5 2.5V8H2Z" /> },
  warn: { label: 'To do', tone: 'orange', shape: triangle },
  fail: { label: 'Problem', tone: 'red', shape: cross },
}

export const labelOf = (state: string): string => looks[state]?.label ?? state
export const toneOf = (state: string): string => looks[state]?.tone ?? 'dim'

export function Glyph({ state }: { state: string }) {
  return (
    <svg class="glyph" viewBox="0 0 12 12" aria-hidden="true" data-state={state} data-tone={toneOf(state)}>
      {looks[state]?.shape ?? ring}
    </svg>
  )
}

export function StateMark({ state, label = labelOf(state) }: { state: string; label?: string }) {
  return (
    <span class="state" data-state={state} data-tone={toneOf(state)}>
      <Glyph state={state} />
      {label}
    </span>
  )
}
