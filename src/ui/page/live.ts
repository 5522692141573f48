import { signal } from '@preact/signals'
import type { NowView } from '../protocol.ts'
import { readOnly } from './actions.tsx'
import { secret, streamLines } from './api.ts'
import { clock } from './clock.tsx'

/** Whether what is shown follows the server: `paused` in a hidden tab, `lost` while it does not answer. */
export const connection = signal<'connecting' | 'live' | 'paused' | 'lost'>('connecting')

/** What every session does now, pushed by the server; undefined until the first message. */
export const now = signal<NowView | undefined>(undefined)

/** Waits before each new attempt, in milliseconds; the last one repeats. */
const retryMs = [250, 1000, 3000, 10_000]

/** Follows what every session does while this tab is visible, and again after the server was away. */
export function followNow(): () => void {
  let current: AbortController | undefined
  let failures = 0
  let timer: ReturnType<typeof setTimeout> | undefined

  async function attempt(): Promise<void> {
    const controller = (current = new AbortController())
    const onOpen = (): void => {
      failures = 0
      connection.value = 'live'
    }
    try {
      for await (const view of streamLines<NowView>('/api/now/stream', controller.signal, onOpen)) show(view)
    } catch {
      // A lost connection is tried again below; a refusal for want of the secret has cleared the secret.
    }
    if (controller.signal.aborted || secret.peek() === undefined) return
    connection.value = 'lost'
    timer = setTimeout(() => void attempt(), retryMs[Math.min(failures++, retryMs.length - 1)])
  }

  function close(): void {
    clearTimeout(timer)
    current?.abort()
    current = undefined
  }

  function onVisibility(): void {
    close()
    if (document.hidden) connection.value = 'paused'
    else void attempt()
  }

  document.addEventListener('visibilitychange', onVisibility)
  onVisibility()
  return () => {
    document.removeEventListener('visibilitychange', onVisibility)
    close()
  }
}

/** Shows what every session does; the title of the tab has the number of those that need a person. */
function show(view: NowView): void {
  now.value = view
  readOnly.value = view.read_only
  const count = view.totals.crashed + view.totals.damaged
  document.title = count === 0 ? 'stint' : `(${count}) stint`
}

/** Changes whenever a claim, a waiter or an incident does, so that pages derived from them load again. */
export function claimsVersion(): string {
  const { tiles = [], incidents = [] } = now.value ?? {}
  const parties = tiles.flatMap(({ session_id, state, holds, waits_for }) => [
    ...holds.map(({ fence }) => `${session_id} ${fence} ${state}`),
    ...(waits_for === null ? [] : [`${session_id} ${waits_for.since}`]),
  ])
  return [...parties, incidents[0]?.at ?? ''].join()
}

/** How often a session that is being written is read again, in milliseconds. */
const recordsMs = 2000

/** Changes whenever the state of a session does, and every two seconds while a process holds the session. */
export function recordsVersion(id: string): string {
  const tile = now.value?.tiles.find(({ session_id }) => session_id === id)
  const turn = tile?.recorded === 'active' ? Math.floor(clock.value / recordsMs) : ''
  return tile === undefined ? '' : `${tile.recorded} ${tile.pid} ${tile.last_at} ${turn}`
}
