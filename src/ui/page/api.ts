import { signal, useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { ErrorBody, NowView, TokenAnswer } from '../protocol.ts'

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
  const parameters = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  const search = new URLSearchParams(parameters.map(([name, value]) => [name, String(value)])).toString()
  return search === '' ? path : `${path}?${search}`
}

export const getJson = async <T>(address: string): Promise<T> => (await (await request(address)).json()) as T

export async function postJson(path: string, body: unknown): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  await request(path, { method: 'POST', headers, body: JSON.stringify(body) })
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

/** Whether what is shown follows the server: `paused` in a hidden tab, `lost` while it does not answer. */
export const connection = signal<'connecting' | 'live' | 'paused' | 'lost'>('connecting')

/** Whether the server refuses actions: then no button offers one. */
export const readOnly = signal(false)

/** What every session does now; undefined until the first answer. */
export const now = signal<NowView | undefined>(undefined)

/** How often the server is asked what every session does, in milliseconds. */
const pollMs = 2000

/** Follows what every session does while this tab is visible. Returns a function that ends it. */
export function followNow(): () => void {
  let controller = new AbortController()
  let lastText = ''

  async function poll({ signal }: AbortController): Promise<void> {
    try {
      const text = await (await request('/api/now', { signal })).text()
      connection.value = 'live'
      if (text !== lastText) show(JSON.parse(text) as NowView)
      lastText = text
    } catch {
      // The next request may succeed; a refusal for want of the secret has cleared the secret.
      if (!signal.aborted) connection.value = 'lost'
    }
    if (!signal.aborted) setTimeout(() => !signal.aborted && void poll(controller), pollMs)
  }

  function restart(): void {
    controller.abort()
    controller = new AbortController()
    if (document.hidden) connection.value = 'paused'
    else void poll(controller)
  }

  document.addEventListener('visibilitychange', restart)
  restart()
  return () => {
    document.removeEventListener('visibilitychange', restart)
    controller.abort()
  }
}

/** Shows a view. The title counts what needs a person, to be seen from another tab. */
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
