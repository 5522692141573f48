import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { ApiError } from './api.ts'
import { shown } from './format.ts'
import { StateMark } from './state-mark.tsx'

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
    <nav class="choices" aria-label={label}>
      {options.map(({ value, text, link }) => (
        <a key={value} href={link} aria-current={value === current ? 'true' : undefined}>
          {text}
        </a>
      ))}
    </nav>
  )
}

/** A line of what is known about something. */
export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <li class="row small">
      <span class="dim">{name}</span>
      <span class="wrap fill">{children}</span>
    </li>
  )
}
