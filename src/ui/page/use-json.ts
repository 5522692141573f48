import { type Signal, useSignal } from '@preact/signals'
import { useCallback, useEffect } from 'preact/hooks'
import { getJson } from './api.ts'

/** What a page asked the server for. While a new answer is on its way, the last one stays. */
export interface Loaded<T> {
  data: T | undefined
  error: unknown
}

/**
 * Loads an address when the component appears, and again when the address or the `version` of what it depends
 * on changes, or `reload` is called.
 */
export function useJson<T>(address: string, version = ''): { state: Signal<Loaded<T>>; reload: () => void } {
  const state = useSignal<Loaded<T>>({ data: undefined, error: undefined })
  const load = useCallback(
    (signal?: AbortSignal) => {
      getJson<T>(address, signal).then(
        (data) => (state.value = { data, error: undefined }),
        (error: unknown) => {
          if (signal?.aborted !== true) state.value = { data: state.peek().data, error }
        },
      )
    },
    [address],
  )
  useEffect(() => {
    const controller = new AbortController()
    load(controller.signal)
    return () => controller.abort()
  }, [load, version])
  return { state, reload: () => load() }
}
