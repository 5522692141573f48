import { chmodSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { createConnection, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * A fault that strikes one statement.
 *
 * - `cut before`: the connection is cut before the statement reaches the server.
 * - `cut after`: the server carries out the statement, and the connection is cut before its answer arrives.
 * - `silence`: the server carries out the statement, and the connection stays open without an answer.
 * - `end with answer`: the answer and the error with which the server ends the connection are one packet.
 */
type Fault = 'cut before' | 'cut after' | 'silence' | 'end with answer'

/** The ErrorResponse of a server that ends the connection. */
const fields = 'SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0'
const ended = Buffer.concat([Buffer.from([0x45, 0, 0, 0, fields.length + 4]), Buffer.from(fields)])

const socketName = '.s.PGSQL.5432'

/** A proxy that injects faults. Clients connect to `directory` instead of the server's. */
export class PostgresProxy implements AsyncDisposable {
  readonly directory = realpathSync(mkdtempSync(join(tmpdir(), 'stint-proxy-')))
  readonly #server: Server
  /** The directory of the server that new connections go to. */
  #target: string
  readonly #sockets = new Set<Socket>()
  #fault: { statement: string; kind: Fault } | undefined
  /** How many faults have struck. */
  faults = 0

  private constructor(serverDirectory: string) {
    this.#target = serverDirectory
    this.#server = createServer((client) => this.#connect(client, join(this.#target, socketName)))
    this.#server.listen(join(this.directory, socketName))
  }

  static async to(serverDirectory: string): Promise<PostgresProxy> {
    const proxy = new PostgresProxy(serverDirectory)
    await new Promise((resolve) => proxy.#server.once('listening', resolve))
    // PgBouncer runs as another user.
    chmodSync(proxy.directory, 0o755)
    chmodSync(join(proxy.directory, socketName), 0o777)
    return proxy
  }

  /** Cuts every connection, and leads new ones to another server. */
  redirect(serverDirectory: string): void {
    this.#target = serverDirectory
    for (const socket of this.#sockets) socket.destroy()
  }

  /** Strikes the next statement that contains this string, once. */
  strike(statement: string, kind: Fault): void {
    this.#fault = { statement, kind }
  }

  #connect(client: Socket, path: string): void {
    const server = createConnection(path)
    let fault: Fault | undefined
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
      fault ??= this.#takeFault(data)
      if (fault === 'cut before') return client.destroy()
      server.write(data)
    })
    server.on('data', (data) => {
      // `Z` (ReadyForQuery): the server has carried out the statement.
      const isDone = data.includes('Z\0\0\0\x05')
      if (fault === undefined) client.write(data)
      else if (fault === 'cut after' && isDone) client.destroy()
      else if (fault === 'end with answer') client.write(isDone ? Buffer.concat([data, ended]) : data)
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
