import type { IncomingHttpHeaders } from 'node:http'

/** `page`: a file of the page, without data. `token`: the exchange of the one-time token. */
export type RequestKind = 'page' | 'token' | 'data'

export interface RequestFacts {
  kind: RequestKind
  method: string
  headers: IncomingHttpHeaders
  /** The port that the server listens on. */
  port: number
  /** Whether the request came over the socket, which only this user can open. */
  isLocal: boolean
  hasSecret: boolean
}

export interface RefusedRequest {
  status: 401 | 403 | 415
  message: string
  hint: string
}

const forbidden = (message: string): RefusedRequest => ({
  status: 403,
  message,
  hint: 'Open the address that `stint ui` prints; scripts use its socket.',
})

/**
 * Decides whether a request may be answered; undefined if it may. Other programs and pages of this machine,
 * and pages of the web in this user's browser, can reach the port: none of them has the secret, and the
 * browser's own headers tell where a request came from.
 */
export function refusalOf(request: RequestFacts): RefusedRequest | undefined {
  const { kind, method, headers, port, isLocal, hasSecret } = request
  const isPost = method === 'POST'
  if (isPost && !/^application\/json\b/i.test(headers['content-type'] ?? ''))
    return { status: 415, message: 'the body must be application/json', hint: 'Set the header Content-Type.' }
  if (isLocal) return undefined
  const address = `127.0.0.1:${port}`
  // A name of another site that is made to resolve to 127.0.0.1 would be the Host of its requests.
  if (headers.host !== address) return forbidden(`this server answers for ${address} only`)
  if (headers.origin !== undefined && headers.origin !== `http://${address}`)
    return forbidden('a page of another origin has sent this request')
  // A worker would stay in the browser and answer for whatever server has this port next.
  if (headers['service-worker'] !== undefined) return forbidden('this page has no service worker')
  const site = headers['sec-fetch-site']
  if (kind === 'page')
    return site === undefined || site === 'same-origin' || headers['sec-fetch-mode'] === 'navigate'
      ? undefined
      : forbidden('another page has sent this request')
  if (site !== 'same-origin') return forbidden('only the page itself may send this request')
  if (kind === 'data' && !hasSecret)
    return {
      status: 401,
      message: 'the secret is missing, or of another run of the server',
      hint: 'Run `stint ui` again: it opens a page that has the secret.',
    }
  return undefined
}
