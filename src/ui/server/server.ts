import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { errorCode, StintError } from '../../base/errors/stint-error.ts'
import { systemClock } from '../../base/process/clock.ts'
import { isRecord, isString, parseObject } from '../../base/text/fields.ts'
import { Access, refusalOf, type RequestKind } from './access.ts'
import { type Endpoints, RequestFields } from './endpoints.ts'
import type { Answers } from './protocol.ts'
import { type PageFile, readPageFiles, safeHeaders, sendError, sendJson } from './send.ts'

interface UiOptions {
  /** Undefined: any free port. */
  port?: number
  /** The directory with the files of the page. */
  page: string
  endpoints: Endpoints
  /** Called when a page has used its token. */
  onToken(token: string): void
}

/** Only the path and the query of a request's address count. */
const origin = 'http://127.0.0.1'
/** Bytes of the body of a request. */
const maxBodyBytes = 64 << 10
/** A connection that has not shown the secret ends after this long without a byte, in milliseconds. */
const strangerMs = 5000

/**
 * The server of the page. It listens on 127.0.0.1 for browsers, and on a socket in the home for scripts and
 * for other runs of `stint ui`.
 */
export class UiServer {
  readonly #access = new Access()
  readonly #options: UiOptions
  readonly #files: Map<string, PageFile>
  readonly #servers: Server[] = []
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
    for (const server of this.#servers) {
      server.close()
      server.closeAllConnections()
    }
  }

  #create(isLocal: boolean): Server {
    // Node would look for slow clients every 30 s, also without any: `timeout` is a timer of each connection.
    const server = createServer({ connectionsCheckingInterval: 2 ** 31 - 1 }, (request, response) => {
      this.#answer(request, response, isLocal).catch((error: unknown) => sendError(response, error))
    })
    if (!isLocal) server.timeout = strangerMs
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
    if (kind === 'page') return this.#sendFile(method, response, pathname)
    // The user's own request may take long: a search of all sessions, for example.
    if (hasSecret) request.socket.setTimeout(0)
    const gone = new AbortController()
    response.once('close', () => gone.abort())
    const isPost = method === 'POST'
    const fields = isPost ? await readBody(request) : Object.fromEntries(searchParams)
    const route = `${method} ${pathname}`
    if (route === 'POST /api/token') return this.#sendToken(response, fields.token, isLocal)
    const { endpoints } = this.#options
    if (!Object.hasOwn(endpoints, route)) throw new StintError('NOT_FOUND', 'there is no such endpoint')
    const answer = endpoints[route as keyof Endpoints]
    sendJson(response, await answer(new RequestFields(fields), gone.signal))
  }

  /** Gives the page the secret for its token, and a script at the socket a new address of the page. */
  #sendToken(response: ServerResponse, token: unknown, isLocal: boolean): void {
    if (isLocal && token === undefined) return sendJson(response, { url: this.address() })
    const secret = isString(token) ? this.#access.redeem(token, systemClock.mono()) : undefined
    if (secret === undefined) {
      const message = 'this token was used already, or is older than an hour'
      const hint = 'Run `stint ui` again: it opens the page with a new one.'
      return sendError(response, new StintError('PERMISSION_DENIED', message, { hint }), 401)
    }
    this.#options.onToken(token as string)
    sendJson(response, { secret } satisfies Answers['POST /api/token'])
  }

  #sendFile(method: string, response: ServerResponse, path: string): void {
    const file = method === 'GET' ? this.#files.get(path) : undefined
    if (file === undefined)
      return sendError(response, new StintError('NOT_FOUND', 'the page has no such file'))
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
