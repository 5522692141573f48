import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { createConnection, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** What becomes of the next statement that a fault is set for. */
type Fault =
  /** It never reaches the server: the connection is cut before. */
  | 'cut before'
  /** The server carries it out, its answer never comes: the connection is cut. */
  | 'cut after'
  /** The server carries it out, its answer never comes, and nobody hears anything any more. */
  | 'silence'

/** A way to the server that can be bad: a client connects to `directory` instead. */
export class PostgresProxy implements AsyncDisposable {
  readonly directory = realpathSync(mkdtempSync(join(tmpdir(), 'stint-proxy-')))
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #fault: { statement: string; kind: Fault } | undefined
  /** How many faults have happened. */
  faults = 0

  private constructor(serverDirectory: string) {
    const name = '.s.PGSQL.5432'
    this.#server = createServer((client) => this.#connect(client, join(serverDirectory, name)))
    this.#server.listen(join(this.directory, name))
  }

  static async to(serverDirectory: string): Promise<PostgresProxy> {
    const proxy = new PostgresProxy(serverDirectory)
    await new Promise((resolve) => proxy.#server.once('listening', resolve))
    return proxy
  }

  /** Strikes the next statement that has this in it, once. */
  strike(statement: string, kind: Fault): void {
    this.#fault = { statement, kind }
  }

  #connect(client: Socket, path: string): void {
    const server = createConnection(path)
    let answers: 'pass' | 'cut' | 'swallow' = 'pass'
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        this.#sockets.delete(socket)
        other.destroy()
      })
    }
    client.on('data', (data) => {
      const kind = this.#takeFault(data)
      if (kind === 'cut before') return client.destroy()
      if (kind !== undefined) answers = kind === 'cut after' ? 'cut' : 'swallow'
      server.write(data)
    })
    server.on('data', (data) => {
      if (answers === 'pass') client.write(data)
      // `Z`: the server is done with it, and ready for the next.
      else if (answers === 'cut' && data.includes('Z\0\0\0\x05')) client.destroy()
    })
  }

  #takeFault(data: Buffer): Fault | undefined {
    if (this.#fault === undefined || !data.includes(this.#fault.statement)) return undefined
    const { kind } = this.#fault
    this.#fault = undefined
    this.faults += 1
    return kind
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise((resolve) => this.#server.close(resolve))
    rmSync(this.directory, { recursive: true, force: true })
  }
}
