import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { type Running, until, type World } from './world.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- what an answer has is what the tests are about
type Json = any

interface Asked {
  method?: 'GET' | 'POST'
  headers?: Record<string, string | undefined>
  body?: unknown
}

/** A running `stint ui`, as a browser and a script see it. */
export class UiClient {
  readonly running: Running
  readonly url: string
  readonly socket: string
  readonly port: number
  readonly token: string

  private constructor(running: Running, { url, socket }: { url: string; socket: string }) {
    this.running = running
    this.url = url
    this.socket = socket
    this.port = Number(new URL(url).port)
    this.token = url.slice(url.indexOf('#token=') + 7)
  }

  /** Starts the server, and reads its first line. */
  static async start(
    world: World,
    args: readonly string[] = [],
    { env, start = (all) => world.startStint(all, { env }) }: UiStart = {},
  ): Promise<UiClient> {
    const running = start(['ui', '--no-open', '--json', ...args])
    await until('stint ui has printed its address', () => {
      const { stdout, stderr } = running.output()
      if (running.child.exitCode !== null && stdout === '') throw new Error(stderr)
      return stdout.includes('\n')
    })
    const [line = ''] = running.output().stdout.split('\n')
    return new UiClient(running, (JSON.parse(line) as { data: { url: string; socket: string } }).data)
  }

  /** The headers of a request that the page itself sends. */
  pageHeaders(secret?: string): Record<string, string> {
    return {
      host: `127.0.0.1:${this.port}`,
      'sec-fetch-site': 'same-origin',
      'sec-fetch-mode': 'cors',
      ...(secret !== undefined && { authorization: `Bearer ${secret}` }),
    }
  }

  /** Asks by the port, with these headers and no others. */
  async byPort(path: string, { method = 'GET', headers = {}, body }: Asked = {}): Promise<UiAnswer> {
    return await answerOf({ host: '127.0.0.1', port: this.port, path, method }, headers, body)
  }

  /** Asks as the page does. */
  async asPage(path: string, secret?: string, asked: Asked = {}): Promise<UiAnswer> {
    const headers = { ...this.pageHeaders(secret), ...asked.headers }
    return await this.byPort(path, { ...asked, headers })
  }

  /** Asks by the socket, as a script does; throws unless the status is 200. */
  async read(path: string, body?: unknown): Promise<Json> {
    const answer = await this.bySocket(path, body)
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.text}`)
    return answer.json
  }

  async bySocket(path: string, body?: unknown): Promise<UiAnswer> {
    const method = body === undefined ? 'GET' : 'POST'
    return await answerOf({ socketPath: this.socket, path, method }, { host: 'stint' }, body)
  }

  /** Exchanges a token for the secret. */
  async signIn(token = this.token): Promise<string> {
    const { json } = await this.asPage('/api/token', undefined, { method: 'POST', body: { token } })
    return json.secret as string
  }

  /** The views of the first page, asked for again and again as the page does; each that differs, once. */
  async *views(): AsyncGenerator<Json> {
    let last = ''
    for (;;) {
      const { text, json } = await this.bySocket('/api/now')
      if (text !== last) yield json
      last = text
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }

  /** The first view that fits. */
  async view(fits: (view: Json) => unknown): Promise<Json> {
    for await (const view of this.views()) if (fits(view)) return view
  }
}

interface UiStart {
  env?: NodeJS.ProcessEnv
  start?: (args: readonly string[]) => Running
}

interface UiAnswer {
  status: number
  headers: IncomingMessage['headers']
  text: string
  /** Undefined if the answer is not JSON. */
  json: Json
}

async function answerOf(
  where: object,
  headers: Record<string, string | undefined>,
  body: unknown,
): Promise<UiAnswer> {
  const text = body === undefined ? undefined : JSON.stringify(body)
  const all = { ...(text !== undefined && { 'content-type': 'application/json' }), ...headers }
  const given = Object.entries(all).filter(([, value]) => value !== undefined)
  const asked = request({
    ...where,
    setHost: false,
    headers: Object.fromEntries(given) as Record<string, string>,
  })
  asked.end(text)
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  let received = ''
  for await (const piece of response.setEncoding('utf8')) received += piece as string
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    text: received,
    get json() {
      return received.startsWith('{') && !received.trim().includes('\n') ? JSON.parse(received) : undefined
    },
  }
}
