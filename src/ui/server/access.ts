import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

/** How long a one-time token opens the page, in milliseconds. */
const tokenMs = 60 * 60_000

const newKey = (): string => randomBytes(32).toString('base64url')
const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest()

/** The secret of one run of the server, and the one-time tokens with which pages get it. */
export class Access {
  readonly #secret = newKey()
  readonly #secretDigest = digestOf(this.#secret)
  /** When each token was issued, in milliseconds on a monotonic clock. */
  readonly #issued = new Map<string, number>()

  issueToken(nowMs: number): string {
    const token = newKey()
    this.#issued.set(token, nowMs)
    return token
  }

  /** Exchanges a token for the secret, once; undefined if it was used, is too old, or was never issued. */
  redeem(token: string, nowMs: number): string | undefined {
    const issuedMs = this.#issued.get(token)
    this.#issued.delete(token)
    return issuedMs !== undefined && nowMs - issuedMs <= tokenMs ? this.#secret : undefined
  }

  /** Whether the header `Authorization` has the secret. */
  allows(authorization: string | undefined): boolean {
    const [, given] = /^Bearer ([\w-]{1,200})$/.exec(authorization ?? '') ?? []
    // Digests have one length, and comparing them tells nothing about the secret by its duration.
    return given !== undefined && timingSafeEqual(digestOf(given), this.#secretDigest)
  }
}

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

interface RefusedRequest {
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
