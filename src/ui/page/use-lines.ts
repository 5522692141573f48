import { type Signal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { ErrorBody, StreamEnd } from '../protocol.ts'
import { ApiError, streamLines } from './api.ts'

/** Results as they are found. */
export interface FoundLines<T> {
  lines: readonly T[]
  end: StreamEnd | undefined
  error: unknown
}

const nothing = { lines: [], end: undefined, error: undefined }

/** Reads a stream that ends by itself; at most `maxLines` are kept. Without an address, there is nothing. */
export function useLines<T extends object>(
  address: string | undefined,
  maxLines: number,
): Signal<FoundLines<T>> {
  const found = useSignal<FoundLines<T>>(nothing)
  useEffect(() => {
    found.value = nothing
    if (address === undefined) return undefined
    const controller = new AbortController()
    void read(address, controller.signal)
    return () => controller.abort()
  }, [address])

  async function read(from: string, signal: AbortSignal): Promise<void> {
    const gathered: T[] = []
    // Lines that come in one piece are shown together.
    let isScheduled = false
    const show = (): void => {
      isScheduled = false
      if (!signal.aborted) found.value = { ...found.peek(), lines: [...gathered] }
    }
    try {
      for await (const line of streamLines<T | StreamEnd | ErrorBody>(from, signal)) {
        if ('error' in line && !('session_id' in line)) throw errorOf(line)
        if ('end' in line) found.value = { lines: [...gathered], end: line, error: undefined }
        else if (gathered.length < maxLines) gathered.push(line as T)
        if (!isScheduled) requestAnimationFrame(show)
        isScheduled = true
      }
    } catch (error) {
      if (!signal.aborted) found.value = { lines: gathered, end: undefined, error }
    }
  }
  return found
}

const errorOf = ({ error }: ErrorBody): ApiError => new ApiError(error.code, error.message, error.hint)
