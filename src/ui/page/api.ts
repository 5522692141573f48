import { signal, useComputed, useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { ActionBodies, Answers, ErrorBody, NowView } from '../server/protocol.ts'

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
  const response = await fetch('/api/token', postOf({ token }))
  if (!response.ok) return forget()
  const answer = (await response.json()) as Answers['POST /api/token']
  sessionStorage.setItem(storageKey, answer.secret)
  secret.value = answer.secret
}

/** Without a secret, the page shows the command that opens a new one. */
function forget(): void {
  sessionStorage.removeItem(storageKey)
  secret.value = undefined
}

const postOf = (body: object): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
})

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

export async function perform<Name extends keyof ActionBodies>(
  name: Name,
  body: ActionBodies[Name],
): Promise<void> {
  await request(`/api/actions/${name}`, postOf(body))
}

/** The time now, in milliseconds since the epoch, to the second. It stands still while this tab is hidden. */
export const clock = signal(Date.now())

export function startClock(): void {
  const tick = (): void => void (document.hidden || (clock.value = Date.now()))
  document.addEventListener('visibilitychange', tick)
  setInterval(tick, 1000)
}

/** What the server was asked for. While a new answer is on its way, the last one stays. */
interface Loaded<T> {
  data: T | undefined
  error: unknown
}

/** How often what may change at any time is asked for, in milliseconds. */
export const pollMs = 2000

/**
 * Loads an address when the component appears, whenever the address or the `version` of what it depends on
 * changes, and every so many milliseconds while this tab is shown. A change while an answer is on its way is
 * asked for after that answer.
 */
export function useJson<T>(address: string, everyMs = Number.POSITIVE_INFINITY, version = ''): Loaded<T> {
  const state = useSignal<Loaded<T>>({ data: undefined, error: undefined })
  const turn = useComputed(() => Math.floor(clock.value / everyMs)).value
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
  useEffect(() => reload.current(), [address, turn, version])
  return state.value
}

/** What every session does now; undefined until the first answer. */
export const now = signal<NowView | undefined>(undefined)

/** Follows what every session does. The title counts what needs a person, to be seen from another tab. */
export function useNow(): { isConnected: boolean; crashes: number } {
  const { data, error } = useJson<NowView>('/api/now', pollMs)
  const crashes = data?.tiles.filter(({ state }) => state === 'crashed' || state === 'damaged').length ?? 0
  useEffect(() => {
    now.value = data
    document.title = crashes === 0 ? 'stint' : `(${crashes}) stint`
  }, [data])
  return { isConnected: error === undefined, crashes }
}
