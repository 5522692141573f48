import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { once } from 'node:events'
import { errorCode, StintError } from '../../base/errors/stint-error.ts'
import { systemClock } from '../../base/process/clock.ts'
import { isRecord, isString, parseObject } from '../../base/text/fields.ts'
import type { TokenAnswer } from '../protocol.ts'
import { Access, refusalOf, type RequestKind } from './access.ts'
import { type Endpoints, RequestFields, routeOf } from './endpoints.ts'
import { type PageFile, readPageFiles, safeHeaders, sendError, sendJson } from './send.ts'

interface UiOptions {
  /** Undefined: any free port. */
  port?: number
  /** The directory with the files of the page. */
  page: string
  endpoints: Endpoints
  readOnly: boolean
  /** Called when a page has used its token. */
  onToken(token: string): void
}

/** Only the path and the query of a request's address count. */
const origin = 'http://127.0.0.1'
/** Bytes of the body of a request. */
const maxBodyBytes = 64 << 10
/** A connection must send a whole request with the secret within this many milliseconds. */
const strangerMs = 5000
/** Connections that have not shown the secret yet; for more, the oldest of them is ended. */
const maxStrangers = 100

/**
 * The server of the page. It listens on 127.0.0.1 for browsers, and on a socket in the home for scripts and
 * for other runs of `stint ui`.
 */
export class UiServer {
  readonly #access = new Access()
  readonly #options: UiOptions
  readonly #files: Map<string, PageFile>
  readonly #servers: Server[] = []
  /** The connections that have not shown the secret, oldest first, with the timer that ends each. */
  readonly #strangers = new Map<Socket, NodeJS.Timeout>()
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
    return `http://127.0.0.1:${this.#port}/#token=${this.#access.issueToken(systemClock.mono())}`
  }

  /** Ends all requests and connections. */
  close(): void {
    for (const call of this.#calls) call.abort()
    for (const server of this.#servers) {
      server.close()
      server.closeAllConnections()
    }
  }

  #create(isLocal: boolean): Server {
    // Node would look for slow clients every 30 s, also without any: each stranger has a timer instead.
    const server = createServer({ connectionsCheckingInterval: 2 ** 31 - 1 }, (request, response) => {
      this.#answer(request, response, isLocal).catch((error: unknown) => sendError(response, error))
    })
    if (!isLocal) server.on('connection', (socket) => this.#limitStranger(socket))
    this.#servers.push(server)
    return server
  }

  /**
   * Ends a connection that does not show the secret in time. Other users of this machine can open as many as
   * they like: each new one ends the oldest of them, so the next connection of the owner is always accepted.
   */
  #limitStranger(socket: Socket): void {
    const timer = setTimeout(() => socket.destroy(), strangerMs)
    this.#strangers.set(socket, timer)
    socket.once('close', () => this.#uncount(socket))
    const [oldest = socket] = this.#strangers.keys()
    if (this.#strangers.size <= maxStrangers) return
    this.#uncount(oldest)
    oldest.destroy()
  }

  /** No longer counts a connection as a stranger's: it has shown the secret, or has ended. */
  #uncount(socket: Socket): void {
    clearTimeout(this.#strangers.get(socket))
    this.#strangers.delete(socket)
  }

  async #answer(request: IncomingMessage, response: ServerResponse, isLocal: boolean): Promise<void> {
    const { method = '', headers, url = '' } = request
    if (!url.startsWith('/') || !URL.canParse(`${origin}${url}`))
      throw new StintError('ARG_ERROR', 'the address is invalid')
    const { pathname, searchParams } = new URL(`${origin}${url}`)
    const kind: RequestKind =
      pathname === '/api/token' ? 'token' : pathname.startsWith('/api/') ? 'data' : 'page'
    const hasSecret = this.#access.allows(headers.authorization)
    if (hasSecret) this.#uncount(request.socket)
    const refused = refusalOf({ kind, method, headers, port: this.#port, isLocal, hasSecret })
    if (refused !== undefined) {
      const { status, message, hint } = refused
      return sendError(response, new StintError('PERMISSION_DENIED', message, { hint }), status)
    }
    if (kind === 'page') return this.#sendFile(method, response, pathname)
    const signal = this.#signalOf(response)
    const body = method === 'POST' ? await readBody(request) : {}
    if (pathname === '/api/token') return this.#sendToken(response, method, body, isLocal)
    const { endpoints } = this.#options
    const { route, id } = routeOf(pathname)
    const answer = endpoints[`${method} ${route}`]
    if (answer !== undefined) {
      const query = new RequestFields(Object.fromEntries(searchParams))
      return sendJson(response, await answer({ id, query, body: new RequestFields(body), signal }))
    }
    const other = ['GET', 'POST'].find((each) => `${each} ${route}` in endpoints)
    if (other === undefined) throw new StintError('NOT_FOUND', 'there is no such endpoint')
    sendError(response, new StintError('ARG_ERROR', `this endpoint takes ${other} only`), 405)
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
  #sendToken(
    response: ServerResponse,
    method: string,
    { token }: Readonly<Record<string, unknown>>,
    isLocal: boolean,
  ): void {
    if (method !== 'POST') return sendError(response, new StintError('ARG_ERROR', 'POST the token'), 405)
    if (isLocal && token === undefined) return sendJson(response, { url: this.address() })
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
    this.#options.onToken(token as string)
    sendJson(response, { secret, read_only: this.#options.readOnly } satisfies TokenAnswer)
  }

  /** Sends a file of the page; any other path is a place in the page, which finds its way by itself. */
  #sendFile(method: string, response: ServerResponse, path: string): void {
    const file = this.#files.get(path) ?? (/\.\w+$/.test(path) ? undefined : this.#files.get('/'))
    if (file === undefined)
      return sendError(response, new StintError('NOT_FOUND', 'the page has no such file'))
    if (method !== 'GET')
      return sendError(response, new StintError('ARG_ERROR', 'files of the page can only be read'), 405)
    const { type, bytes } = file
    response.writeHead(200, { ...safeHeaders, 'Content-Type': type, 'Content-Length': bytes.length })
    response.end(bytes)
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
