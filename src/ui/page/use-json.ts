import { type Signal, useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { getJson } from './api.ts'

/** What a page asked the server for. While a new answer is on its way, the last one stays. */
export interface Loaded<T> {
  data: T | undefined
  error: unknown
}

/**
 * Loads an address when the component appears, and again when the address or the `version` of what it depends
 * on changes, or `reload` is called. A change while an answer is on its way is asked for after that answer.
 */
export function useJson<T>(address: string, version = ''): { state: Signal<Loaded<T>>; reload: () => void } {
  const state = useSignal<Loaded<T>>({ data: undefined, error: undefined })
  const reload = useRef(() => {})
  useEffect(() => {
    const controller = new AbortController()
    const { signal } = controller
    let standing: 'idle' | 'loading' | 'outdated' = 'idle'
    reload.current = () => {
      standing = standing === 'idle' ? 'loading' : 'outdated'
      if (standing === 'loading') void load()
    }
    async function load(): Promise<void> {
      try {
        state.value = { data: await getJson<T>(address, signal), error: undefined }
      } catch (error) {
        if (!signal.aborted) state.value = { data: state.peek().data, error }
      }
      const isOutdated = standing === 'outdated'
      standing = 'idle'
      if (isOutdated && !signal.aborted) reload.current()
    }
    return () => controller.abort()
  }, [address])
  useEffect(() => reload.current(), [address, version])
  return { state, reload: () => reload.current() }
}
