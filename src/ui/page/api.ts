import { signal, useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { ErrorBody, TokenAnswer } from '../protocol.ts'

/** A request that has failed: the message of the command's error, and what to do. */
export class ApiError extends Error {
  readonly hint: string | undefined

  constructor(message: string, hint?: string) {
    super(message)
    this.hint = hint
  }
}

const storageKey = 'stint-secret'

/** The secret of this run of the server; undefined in a tab that was opened without a token. */
export const secret = signal<string | undefined>(undefined)

/**
 * Exchanges the one-time token in the address for the secret, and takes the token out of the address. The
 * secret stays in this tab, also when the page is loaded again.
 */
export async function signIn(): Promise<void> {
  const token = /^#token=([\w-]+)/.exec(location.hash)?.[1]
  if (token === undefined) {
    secret.value = sessionStorage.getItem(storageKey) ?? undefined
    return
  }
  history.replaceState(null, '', '#/now')
  const response = await fetch('/api/token', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token }),
  })
  if (!response.ok) return forget()
  const answer = (await response.json()) as TokenAnswer
  sessionStorage.setItem(storageKey, answer.secret)
  secret.value = answer.secret
}

/** Without a secret, the page shows the command that opens a new one. */
function forget(): void {
  sessionStorage.removeItem(storageKey)
  secret.value = undefined
}

async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { ...init.headers, authorization: `Bearer ${secret.peek()}` }
  const response = await fetch(path, { ...init, headers, cache: 'no-store' })
  if (response.ok) return response
  // The server was started again, so the secret of the last run opens nothing.
  if (response.status === 401) forget()
  const answer = (await response.json().catch(() => undefined)) as ErrorBody | undefined
  throw new ApiError(answer?.error.message ?? response.statusText, answer?.error.hint)
}

/** An address of the server; parameters that are undefined or empty are left out. */
export function addressOf(
  path: string,
  query: Readonly<Record<string, string | number | undefined>>,
): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
  return search === '' ? path : `${path}?${search}`
}

export const getJson = async <T>(address: string): Promise<T> => (await (await request(address)).json()) as T

export async function postJson(path: string, body: unknown): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  await request(path, { method: 'POST', headers, body: JSON.stringify(body) })
}

/**
 * The lines of a streamed answer, each a JSON value. `onOpen` is called when the server has accepted the
 * request, perhaps long before the first line.
 */
export async function* streamLines<T>(
  path: string,
  signal: AbortSignal,
  onOpen: () => void,
): AsyncGenerator<T> {
  const response = await request(path, { signal })
  onOpen()
  const reader = response.body?.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined }
    if (done) return
    const lines = (rest + decoder.decode(value, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line !== '') yield JSON.parse(line) as T
  }
}

/** What a page asked the server for. While a new answer is on its way, the last one stays. */
export interface Loaded<T> {
  data: T | undefined
  error: unknown
}

/**
 * Loads an address when the component appears, and again when the address or the `version` of what it depends
 * on changes. A change while an answer is on its way is asked for after that answer.
 */
export function useJson<T>(address: string, version = ''): Loaded<T> {
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
        const response = await request(address, { signal })
        state.value = { data: (await response.json()) as T, error: undefined }
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
  return state.value
}
