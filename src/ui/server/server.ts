import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { errorCode, StintError } from '../../base/errors/stint-error.ts'
import { systemClock } from '../../base/process/clock.ts'
import { isRecord, isString, parseObject } from '../../base/text/fields.ts'
import type { NowView, TokenAnswer } from '../protocol.ts'
import { Access } from './access.ts'
import { type PageFile, readPageFiles, safeHeaders } from './page-files.ts'
import { refusalOf, type RequestKind } from './request-guard.ts'
import { matchRoute, type Routes } from './routes.ts'
import { sendError, sendAnswer } from './send.ts'

export interface UiOptions {
  /** Undefined: any free port. */
  port?: number
  /** The directory with the files of the page. */
  page: string
  routes: Routes
  readOnly: boolean
  /** Called when there is a new address: a page is about to be opened. */
  onAddress(): void
  /** Called when a page has used its token. Returns what the page shows first, if that is known already. */
  onToken(token: string): NowView | undefined
}

/** Only the path and the query of a request's address count. */
const origin = 'http://127.0.0.1'
/** Bytes of the body of a request. */
const maxBodyBytes = 64 << 10
/** More connections than any number of tabs has. */
const maxConnections = 200

/**
 * The server of the page. It listens on 127.0.0.1 for browsers, and on a socket in the home for scripts and
 * for other runs of `stint ui`.
 */
export class UiServer {
  readonly #access = new Access()
  readonly #options: UiOptions
  readonly #files: Map<string, PageFile>
  readonly #servers: Server[] = []
  /** One for each request under way. */
  readonly #calls = new Set<AbortController>()
  #port = 0

  private constructor(options: UiOptions) {
    this.#options = options
    this.#files = readPageFiles(options.page)
  }

  static async listen(options: UiOptions): Promise<UiServer> {
    const server = new UiServer(options)
    const { port } = options
    try {
      const tcp = server.#create(false).listen(port ?? 0, '127.0.0.1')
      await once(tcp, 'listening')
      server.#port = (tcp.address() as AddressInfo).port
    } catch (error) {
      if (!['EADDRINUSE', 'EACCES'].includes(errorCode(error) ?? '')) throw error
      throw new StintError('PORT_TAKEN', `cannot listen on 127.0.0.1:${port}: ${errorCode(error)}`, {
        cause: error,
      })
    }
    return server
  }

  /** Listens on a socket, too; only this user may be able to open it. */
  async listenAt(path: string): Promise<void> {
    const server = this.#create(true).listen({ path, readableAll: false, writableAll: false })
    await once(server, 'listening')
  }

  /** The address of the page, with a new one-time token. */
  address(): string {
    this.#options.onAddress()
    return `http://127.0.0.1:${this.#port}/#token=${this.#access.issueToken(systemClock.mono())}`
  }

  /** Ends all streams and connections. */
  close(): void {
    for (const call of this.#calls) call.abort()
    for (const server of this.#servers) {
      server.close()
      server.closeAllConnections()
    }
  }

  #create(isLocal: boolean): Server {
    // Node would look for slow clients every 30 s, as long as the server runs.
    const server = createServer({ connectionsCheckingInterval: 2 ** 31 - 1 }, (request, response) => {
      this.#answer(request, response, isLocal).catch((error: unknown) => sendError(response, error))
    })
    server.maxConnections = maxConnections
    this.#servers.push(server)
    return server
  }

  async #answer(request: IncomingMessage, response: ServerResponse, isLocal: boolean): Promise<void> {
    const { method = '', headers, url = '' } = request
    if (!url.startsWith('/') || !URL.canParse(`${origin}${url}`))
      throw new StintError('ARG_ERROR', 'the address is invalid')
    const { pathname, searchParams } = new URL(`${origin}${url}`)
    const kind: RequestKind =
      pathname === '/api/token' ? 'token' : pathname.startsWith('/api/') ? 'data' : 'page'
    const hasSecret = this.#access.allows(headers.authorization)
    const refused = refusalOf({ kind, method, headers, port: this.#port, isLocal, hasSecret })
    if (refused !== undefined) {
      const { status, message, hint } = refused
      return sendError(response, new StintError('PERMISSION_DENIED', message, { hint }), status)
    }
    if (kind === 'page') return this.#sendFile(request, response, pathname)
    const signal = this.#signalOf(response)
    const body = method === 'POST' ? await readBody(request) : {}
    if (pathname === '/api/token') return await this.#sendToken(response, method, body, isLocal)
    const matched = matchRoute(this.#options.routes, method, pathname)
    if (matched === undefined) throw new StintError('NOT_FOUND', 'there is no such endpoint')
    const { answer, params, methods } = matched
    if (answer === undefined)
      return sendError(
        response,
        new StintError('ARG_ERROR', `this endpoint takes ${methods.join(' and ')} only`),
        405,
      )
    await sendAnswer(response, await answer({ params, query: searchParams, body, signal }))
  }

  /** Aborts when the client has gone, or the server ends. */
  #signalOf(response: ServerResponse): AbortSignal {
    const call = new AbortController()
    this.#calls.add(call)
    response.once('close', () => {
      this.#calls.delete(call)
      call.abort()
    })
    return call.signal
  }

  /** Gives the page the secret for its token, and a script at the socket a new address of the page. */
  async #sendToken(
    response: ServerResponse,
    method: string,
    { token }: Readonly<Record<string, unknown>>,
    isLocal: boolean,
  ): Promise<void> {
    if (method !== 'POST') return sendError(response, new StintError('ARG_ERROR', 'POST the token'), 405)
    if (isLocal && token === undefined) return await sendAnswer(response, { json: { url: this.address() } })
    const secret = isString(token) ? this.#access.redeem(token, systemClock.mono()) : undefined
    if (secret === undefined) {
      const hint = 'Run `stint ui` again: it opens the page with a new one.'
      return sendError(
        response,
        new StintError('PERMISSION_DENIED', 'this token was used already, or is older than an hour', {
          hint,
        }),
        401,
      )
    }
    const now = this.#options.onToken(token as string) ?? null
    await sendAnswer(response, {
      json: { secret, read_only: this.#options.readOnly, now } satisfies TokenAnswer,
    })
  }

  /** Sends a file of the page; any other path is a place in the page, which finds its way by itself. */
  #sendFile({ method, headers }: IncomingMessage, response: ServerResponse, path: string): void {
    const file = this.#files.get(path) ?? (/\.\w+$/.test(path) ? undefined : this.#files.get('/'))
    if (file === undefined)
      return sendError(response, new StintError('NOT_FOUND', 'the page has no such file'))
    if (method !== 'GET' && method !== 'HEAD')
      return sendError(response, new StintError('ARG_ERROR', 'files of the page can only be read'), 405)
    const isGzipped = /\bgzip\b/.test(String(headers['accept-encoding'] ?? ''))
    const bytes = isGzipped ? file.gzipped : file.bytes
    response.writeHead(200, {
      ...safeHeaders,
      'Content-Type': file.type,
      'Content-Length': bytes.length,
      ...(isGzipped && { 'Content-Encoding': 'gzip' }),
    })
    response.end(method === 'HEAD' ? undefined : bytes)
  }
}

async function readBody(request: IncomingMessage): Promise<Record<string, unknown>> {
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of request as AsyncIterable<Buffer>) {
    size += piece.length
    if (size > maxBodyBytes)
      throw new StintError('ARG_ERROR', `the body is longer than ${maxBodyBytes} bytes`)
    pieces.push(piece)
  }
  const body = parseObject(Buffer.concat(pieces).toString('utf8'))
  if (!isRecord(body)) throw new StintError('ARG_ERROR', 'the body is not a JSON object')
  return body
}
