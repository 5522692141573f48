import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

/** How long a one-time token opens the page, in milliseconds. */
const tokenMs = 60 * 60_000
/** How many tokens wait for their page; of more, the oldest open nothing. */
const maxTokens = 32

const newKey = (): string => randomBytes(32).toString('base64url')
const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest()

/** The secret of one run of the server, and the one-time tokens with which pages get it. */
export class Access {
  readonly #secret = newKey()
  readonly #secretDigest = digestOf(this.#secret)
  /** When each token was issued, in milliseconds on a monotonic clock, oldest first. */
  readonly #issued = new Map<string, number>()

  issueToken(nowMs: number): string {
    const token = newKey()
    this.#issued.set(token, nowMs)
    const [oldest] = this.#issued.keys()
    if (this.#issued.size > maxTokens && oldest !== undefined) this.#issued.delete(oldest)
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
