import type { JSX } from 'preact'

/** A state is a colour, a shape and a word: none of them is needed to tell it. */
const looks: Readonly<Record<string, { label: string; shape: JSX.Element }>> = {
  'waits-for-you': { label: 'Waits for you', shape: <path class="full" d="M6 1 11 6 6 11 1 6Z" /> },
  crashed: { label: 'Crashed', shape: <path d="M2 2 10 10M10 2 2 10" /> },
  waiting: { label: 'Waiting', shape: <path d="M2.5 1.5h7L6 6l3.5 4.5h-7L6 6Z" /> },
  working: { label: 'Working', shape: <circle class="full beats" cx="6" cy="6" r="4" /> },
  background: { label: 'Background', shape: <path d="M6 2a4 4 0 1 1-4 4M6 6h.01" /> },
  idle: { label: 'Idle', shape: <circle cx="6" cy="6" r="4" /> },
  active: { label: 'Active', shape: <circle class="full" cx="6" cy="6" r="4" /> },
  closed: { label: 'Closed', shape: <path d="M2 6.5 5 9.5 10 3" /> },
  locked: { label: 'Locked', shape: <path d="M2.5 6h7v4.5h-7ZM4 6V4a2 2 0 0 1 4 0v2" /> },
  damaged: { label: 'Damaged', shape: <path d="M6 1.5 11 10.5H1ZM6 5v2" /> },
  whole: { label: 'Whole', shape: <path d="M2 6.5 5 9.5 10 3" /> },
  torn: { label: 'Torn tail', shape: <path d="M2 3h8M2 6h5M2 9h2" /> },
  ok: { label: 'Done', shape: <path d="M2 6.5 5 9.5 10 3" /> },
  failed: { label: 'Failed', shape: <path d="M2 2 10 10M10 2 2 10" /> },
  grant: { label: 'Granted', shape: <path d="M2 6.5 5 9.5 10 3" /> },
  wait: { label: 'Waited', shape: <path d="M2.5 1.5h7L6 6l3.5 4.5h-7L6 6Z" /> },
  refusal: { label: 'Refused', shape: <path d="M10 6A4 4 0 1 1 2 6a4 4 0 0 1 8 0ZM3.2 8.8 8.8 3.2" /> },
  takeover: { label: 'Taken over', shape: <path d="M2 4h7L6.5 1.5M10 8H3l2.5 2.5" /> },
  release: { label: 'Released', shape: <circle cx="6" cy="6" r="4" /> },
  break: { label: 'Broken', shape: <path d="M7 1 3.5 6h5L5 11" /> },
  late: { label: 'Ran late', shape: <path d="M6 1 11 6 6 11 1 6ZM6 4v2.2" /> },
  note: { label: 'Note', shape: <path d="M2 2h8v6H6l-2.5 2.5V8H2Z" /> },
  warn: { label: 'To do', shape: <path d="M6 1.5 11 10.5H1ZM6 5v2" /> },
  fail: { label: 'Problem', shape: <path d="M2 2 10 10M10 2 2 10" /> },
}

export const labelOf = (state: string): string => looks[state]?.label ?? state

export function Glyph({ state }: { state: string }) {
  return (
    <svg class="glyph" viewBox="0 0 12 12" aria-hidden="true" data-state={state}>
      {looks[state]?.shape ?? <circle cx="6" cy="6" r="4" />}
    </svg>
  )
}

export function StateMark({ state, label = labelOf(state) }: { state: string; label?: string }) {
  return (
    <span class="state" data-state={state}>
      <Glyph state={state} />
      {label}
    </span>
  )
}
