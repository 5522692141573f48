import { signal } from '@preact/signals'
import { clockTime, exactTime, shortAge } from './format.ts'

/** The time now, in milliseconds since the epoch, to the second. */
export const clock = signal(Date.now())

let timer: ReturnType<typeof setInterval> | undefined

/** Ticks once a second, while this tab is visible. */
export function startClock(): void {
  const tick = (): void => void (clock.value = Date.now())
  const restart = (): void => {
    clearInterval(timer)
    if (document.hidden) return
    tick()
    timer = setInterval(tick, 1000)
  }
  document.addEventListener('visibilitychange', restart)
  restart()
}

/** How long ago something was, kept current. The exact time is in its title. */
export function Ago({ at, class: look }: { at: number | null; class?: string }) {
  if (at === null) return <span class={look}>–</span>
  return (
    <time class={look} dateTime={new Date(at).toISOString()} title={exactTime(at)}>
      {shortAge(clock.value - at)}
    </time>
  )
}

/** A time of day; on another day with its date. */
export function At({ at, class: look }: { at: number; class?: string }) {
  return (
    <time class={look} dateTime={new Date(at).toISOString()}>
      {clockTime(at, clock.value)}
    </time>
  )
}
