import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { streamLines, secret } from './api.ts'

/** Whether what is shown follows the server: `paused` in a hidden tab, `lost` while it does not answer. */
export const connection = signal<'connecting' | 'live' | 'paused' | 'lost'>('connecting')

/** Waits before each new attempt, in milliseconds; the last one repeats. */
const retryMs = [250, 1000, 3000, 10_000]

/**
 * Follows a stream of the server while this tab is visible, and again after the server was away. `addressNow`
 * is asked at each attempt, so that it can continue where the last one ended. Returns what ends it.
 */
export function follow<T>(addressNow: () => string, take: (message: T) => void): () => void {
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
      for await (const message of streamLines<T>(addressNow(), controller.signal, onOpen)) take(message)
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

/** Follows a stream as long as the component is on the page, anew whenever the address changes. */
export function useStream<T>(address: string, take: (message: T) => void): void {
  useEffect(() => follow(() => address, take), [address])
}
