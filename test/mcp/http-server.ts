import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer as createHttpServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { ReadableStream } from 'node:stream/web'
import {
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import { HeldClaims } from '../../src/mcp/held-claims.ts'
import { allTools, createServer } from '../../src/mcp/serve.ts'
import { defineTool, type ServerState } from '../../src/mcp/tool.ts'
import { openLeases, openStore } from '../../src/cli/store.ts'

const fixture = {
  title: 'Fixture',
  description: 'A tool that the conformance tool asks for',
  input: {},
  isReading: true,
}

/** Tools that the conformance tool calls by name; the server answers for them as for its own. */
const fixtureTools = [
  defineTool({ ...fixture, name: 'test_simple_text', call: async () => ({ data: {}, text: 'Simple.' }) }),
  defineTool({
    ...fixture,
    name: 'test_error_handling',
    call: () => Promise.reject(new Error('This tool always fails.')),
  }),
  defineTool({
    ...fixture,
    name: 'test_tool_with_progress',
    async call(_, { progress }) {
      for (const step of ['first', 'second', 'third']) progress(step)
      return { data: {}, text: 'Done.' }
    },
  }),
]

/** The MCP server over HTTP on loopback, for tests alone: the conformance tool speaks nothing else (2025). */
export class HttpServer implements AsyncDisposable {
  readonly #connections = new Map<string, WebStandardStreamableHTTPServerTransport>()
  readonly #held: HeldClaims
  readonly #server

  static async listen(): Promise<HttpServer> {
    const unexpected = (message: string): never => {
      throw new Error(message)
    }
    const state = {
      leases: await openLeases(undefined, unexpected),
      store: await openStore(undefined, unexpected),
      held: new HeldClaims(),
    }
    const server = new HttpServer(state)
    await once(server.#server.listen(0, '127.0.0.1'), 'listening')
    return server
  }

  private constructor(state: ServerState) {
    this.#held = state.held
    this.#server = createHttpServer(async (incoming, outgoing) => {
      const request = await requestOf(incoming)
      const response =
        hostHeaderValidationResponse(request, localhostAllowedHostnames()) ??
        (await (await this.#transportOf(request, state)).handleRequest(request))
      outgoing.writeHead(response.status, Object.fromEntries(response.headers))
      if (response.body === null) outgoing.end()
      else Readable.fromWeb(response.body as ReadableStream).pipe(outgoing)
    })
  }

  /** The connection that the request belongs to, or a new one, with a server of its own. */
  async #transportOf(
    request: Request,
    state: ServerState,
  ): Promise<WebStandardStreamableHTTPServerTransport> {
    const known = this.#connections.get(request.headers.get('mcp-session-id') ?? '')
    if (known !== undefined) return known
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void this.#connections.set(id, transport),
    })
    await createServer(state, [...allTools, ...fixtureTools]).connect(transport)
    return transport
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/mcp`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await this.#held.close()
  }
}

async function requestOf(incoming: IncomingMessage): Promise<Request> {
  const { method = 'GET', url = '/', headers } = incoming
  const body = method === 'POST' ? { body: new Uint8Array(await buffer(incoming)) } : {}
  return new Request(new URL(url, `http://${headers.host}`), {
    method,
    headers: Object.entries(headers).map(([name, value]) => [name, String(value)]),
    ...body,
  })
}
