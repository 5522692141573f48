import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { ApiError, clock } from './api.ts'
import { clockTime, exactTime, shortAge, shown } from './format.ts'
import { choose } from './route.ts'

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

/** The age of something, kept current. The exact time is in its title. */
export function Age({ at, class: look }: { at: number | null; class?: string }) {
  if (at === null) return <span class={look}>–</span>
  return (
    <time class={look} dateTime={new Date(at).toISOString()} title={exactTime(at)}>
      {shortAge(clock.value - at)}
    </time>
  )
}

/** An age as a part of a sentence: `12m ago`, or `now`. */
export const Ago = ({ at }: { at: number | null }) => (
  <>
    <Age at={at} />
    {at !== null && clock.value - at >= 1000 && ' ago'}
  </>
)

/** A time of day; on another day with its date. */
export function At({ at, class: look }: { at: number; class?: string }) {
  return (
    <time class={look} dateTime={new Date(at).toISOString()}>
      {clockTime(at, clock.value)}
    </time>
  )
}

/** Copies a text by one click, and says so. */
export function Copy({ text, label = 'Copy' }: { text: string; label?: string }) {
  const copied = useSignal(false)
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text)
    copied.value = true
    setTimeout(() => (copied.value = false), 1500)
  }
  return (
    <button type="button" onClick={() => void copy()} aria-label={`${label}: ${shown(text)}`}>
      <span aria-live="polite">{copied.value ? 'Copied' : label}</span>
    </button>
  )
}

/** A shell line, to copy. */
export function ShellLine({ line }: { line: string }) {
  return (
    <div class="command">
      <code tabIndex={0}>{shown(line, 2000)}</code>
      <Copy text={line} />
    </div>
  )
}

/** What a page shows where there is nothing to show: why, and what to do. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p>
        <strong>{title}</strong>
      </p>
      {children}
    </div>
  )
}

/** A failed request: what went wrong, and what to do. */
export function ErrorBox({ error }: { error: unknown }) {
  const { message } = error instanceof Error ? error : new Error(String(error))
  const hint = error instanceof ApiError ? error.hint : undefined
  return (
    <div class="panel" role="alert">
      <div class="row">
        <StateMark state="fail" />
        <strong class="wrap">{shown(message, 1000)}</strong>
        {hint !== undefined && <p class="dim">{shown(hint, 1000)}</p>}
      </div>
    </div>
  )
}

/** What a page shows until its first answer: that it loads, or why it cannot. */
export const Loading = ({ error }: { error: unknown }) =>
  error === undefined ? <p class="dim">Loading…</p> : <ErrorBox error={error} />

/** The name of a workspace: its last part stands out and stays, the way to it is cut where room is short. */
export function Place({ name }: { name: string }) {
  const cut = name.lastIndexOf('/') + 1
  return (
    <bdi class="place" title={shown(name, 1000)}>
      {cut > 0 && <span class="dim cut">{shown(name.slice(0, cut))}</span>}
      <span class="cut">{shown(name.slice(cut))}</span>
    </bdi>
  )
}

/** Links of which one is chosen. */
export function Choices({
  label,
  current,
  options,
}: {
  label: string
  current: string
  options: readonly { value: string; text: string; link: string }[]
}) {
  return (
    <nav class="small" aria-label={label}>
      {options.map(({ value, text, link }) => (
        <a key={value} href={link} aria-current={value === current ? 'true' : undefined}>
          {text}
        </a>
      ))}
    </nav>
  )
}

/** Buttons that lead to other parts of a list. Each has what it chooses; null if there is no such part. */
export function Pager({
  steps,
  children,
}: {
  steps: Readonly<Record<string, Readonly<Record<string, string>> | null>>
  children?: ComponentChildren
}) {
  return (
    <p class="pager small dim">
      {children}
      {Object.entries(steps).map(
        ([name, choices]) =>
          choices !== null && (
            <button key={name} type="button" onClick={() => choose(choices)}>
              {name}
            </button>
          ),
      )}
    </p>
  )
}

/** What is known about something, a line each; null for what is not known. */
export function FactList({
  title,
  facts,
}: {
  title: string
  facts: Readonly<Record<string, ComponentChildren>>
}) {
  return (
    <section>
      <h2>{title}</h2>
      <ul class="panel facts">
        {Object.entries(facts).map(
          ([name, text]) =>
            text !== null && (
              <li class="row small" key={name}>
                <span class="dim">{name}</span>
                <span class="wrap fill">{text}</span>
              </li>
            ),
        )}
      </ul>
    </section>
  )
}
