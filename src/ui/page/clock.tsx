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
