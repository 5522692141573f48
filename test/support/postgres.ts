import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { lodging, type Lodging, serverRoom } from './postgres-binaries.ts'
import { onSmallDisk } from './postgres-small-disk.ts'

export interface ServerOptions {
  /** The size of a small disk beside the one that has its files, as `mount` takes it. */
  smallDisk?: string
}

/**
 * A PostgreSQL server of its own, on a Unix socket in a directory of its own. It ends with whoever started it, however that ends: a small
 * shell that holds a pipe to us kills it and removes its files when the pipe closes.
 */
export class PostgresServer implements AsyncDisposable {
  readonly directory: string
  readonly #data: string
  readonly #lodging: Lodging
  readonly #keeper: ChildProcess
  readonly #pools: pg.Pool[] = []
  readonly #options: ServerOptions
  #postmaster: ChildProcess | undefined
  #databases = 0
  #log = ''

  private constructor(directory: string, options: ServerOptions) {
    this.directory = directory
    this.#options = options
    this.#data = join(directory, 'data')
    this.#keeper = spawn('sh', ['-c', keeperScript, 'sh', directory], {
      stdio: ['pipe', 'ignore', 'ignore'],
      // Ctrl-C is for those who run the tests; the keeper sees their end.
      detached: true,
    })
    this.#lodging = lodging(directory)
  }

  /** `settings` are lines of its configuration. */
  static async start(
    settings: Record<string, string> = {},
    options: ServerOptions = {},
  ): Promise<PostgresServer> {
    const directory = realpathSync(mkdtempSync(join(serverRoom(), 'stint-pg-')))
    const server = new PostgresServer(directory, options)
    try {
      await server.#initialise(settings)
      await server.start()
      return server
    } catch (error) {
      await server[Symbol.asyncDispose]()
      throw error
    }
  }

  /** Where its small disk is, for a tablespace. */
  get smallDisk(): string {
    return join(this.directory, 'small/space')
  }

  get #roomSignal(): string {
    return join(this.directory, 'make-room')
  }

  /** In a moment the small disk has some room again. */
  makeRoom(): void {
    writeFileSync(this.#roomSignal, '')
  }

  get pid(): number {
    return this.#postmaster?.pid ?? 0
  }

  /** Where a client finds it; without a password it comes in as `postgres`, who needs none. */
  url({ user = 'postgres', password = '', database = 'postgres' } = {}): string {
    const who = password === '' ? user : `${user}:${encodeURIComponent(password)}`
    return `postgresql://${who}@/${database}?host=${encodeURIComponent(this.directory)}`
  }

  /** A new, empty database. */
  async createDatabase(): Promise<string> {
    const name = `db${++this.#databases}`
    await this.admin(`CREATE DATABASE ${name}`)
    return name
  }

  /** Ended with the server. */
  pool(config: pg.PoolConfig & { user?: string; database?: string } = {}): pg.Pool {
    const pool = new pg.Pool({ host: this.directory, user: 'postgres', database: 'postgres', ...config })
    // The server is killed under it, on purpose: the next query tells.
    pool.on('error', () => {})
    this.#pools.push(pool)
    return pool
  }

  /** One statement (or several) by the superuser, on a connection of its own. */
  async admin(sql: string, database = 'postgres'): Promise<Record<string, unknown>[]> {
    const client = new pg.Client({ host: this.directory, user: 'postgres', database })
    client.on('error', () => {})
    await client.connect()
    try {
      return ((await client.query(sql)).rows ?? []) as Record<string, unknown>[]
    } finally {
      await client.end().catch(() => {})
    }
  }

  /** Starts it, again if it was killed. */
  async start(): Promise<void> {
    // What a killed server leaves running keeps its memory for a moment: then the new one ends at once.
    const end = Date.now() + 60_000
    while (!(await this.#tryStart())) {
      if (Date.now() > end) throw new Error(`PostgreSQL does not start:\n${this.#log}`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }

  /** As if its machine had lost power, but for the disk. */
  async kill(): Promise<void> {
    const postmaster = this.#postmaster
    if (postmaster === undefined || postmaster.exitCode !== null) return
    const ended = once(postmaster, 'exit')
    postmaster.kill('SIGKILL')
    await ended
  }

  /** Starts it anew as a replica, which takes in what others write and writes nothing itself. */
  async becomeReplica(): Promise<void> {
    await this.kill()
    writeFileSync(join(this.#data, 'standby.signal'), '')
    await this.start()
  }

  /** The replica takes over, as when its primary is lost. */
  async promote(): Promise<void> {
    await this.admin('SELECT pg_promote()')
  }

  /** What the system does for us when we are killed: the keeper's pipe closes. */
  abandon(): void {
    this.#keeper.stdin?.destroy()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = Promise.allSettled(this.#pools.map((pool) => pool.end()))
    // A pool waits for its connections: those under way end with the server.
    await Promise.race([ended, this.#down()])
    const kept = once(this.#keeper, 'exit')
    this.#keeper.stdin?.end()
    if (this.#keeper.exitCode === null) await kept
    rmSync(this.directory, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
  }

  /** Immediately: nobody needs the data any more. */
  async #down(): Promise<void> {
    const postmaster = this.#postmaster
    if (postmaster === undefined || postmaster.exitCode !== null || postmaster.signalCode !== null) return
    const ended = once(postmaster, 'exit')
    postmaster.kill('SIGQUIT')
    await ended
  }

  async #initialise(settings: Record<string, string>): Promise<void> {
    const { initdb, env, uid, gid } = this.#lodging
    mkdirSync(this.#data, { mode: 0o700 })
    if (uid !== undefined && gid !== undefined)
      for (const path of [this.directory, this.#data]) chownSync(path, uid, gid)
    if (this.#options.smallDisk !== undefined) mkdirSync(join(this.directory, 'small'))
    // Clients of other users come in by their password.
    chmodSync(this.directory, 0o755)
    const flags = ['--auth=trust', '--username=postgres', '--encoding=UTF8', '--no-locale', '--no-sync']
    const args = ['-D', this.#data, ...flags, '--wal-segsize=1', '--no-instructions']
    await promisify(execFile)(initdb, args, { env, uid, gid, cwd: this.directory })
    writeFileSync(join(this.#data, 'pg_hba.conf'), hostRules)
    const lines = Object.entries({ ...defaultSettings, ...settings }).map(
      ([name, value]) => `${name} = ${value}`,
    )
    writeFileSync(join(this.#data, 'postgresql.auto.conf'), `${lines.join('\n')}\n`)
  }

  /** False if it ended before it was ready. */
  async #tryStart(): Promise<boolean> {
    const { postgres, env, uid, gid } = this.#lodging
    const { smallDisk } = this.#options
    const args = ['-D', this.#data, '-k', this.directory]
    const plain = { command: postgres, args, uid, gid }
    const disk = { path: join(this.directory, 'small'), size: smallDisk ?? '', signal: this.#roomSignal }
    const start = smallDisk === undefined ? plain : onSmallDisk(disk, args, this.#lodging)
    const postmaster = spawn(start.command, start.args, {
      env,
      uid: start.uid,
      gid: start.gid,
      cwd: this.directory,
      stdio: ['ignore', 'ignore', 'pipe'],
      detached: true,
    })
    this.#postmaster = postmaster
    return await new Promise((resolve, reject) => {
      postmaster.once('error', reject)
      postmaster.once('exit', () => resolve(false))
      postmaster.stderr.setEncoding('utf8').on('data', (text: string) => {
        this.#log = (this.#log + text).slice(-10_000)
        if (/ready to accept (read-only )?connections/.test(text)) resolve(true)
      })
    })
  }
}

/** Waits for the end of its input: that is the end of the tests. A number that was left behind may be somebody else's by now. */
const keeperScript = `
cat > /dev/null
if read -r pid 2> /dev/null < "$1/data/postmaster.pid" && [ "$(readlink "/proc/$pid/cwd")" = "$1/data" ]; then
  kill -QUIT "$pid" 2> /dev/null
  tries=0
  while kill -0 "$pid" 2> /dev/null && [ "$tries" -lt 50 ]; do tries=$((tries + 1)); sleep 0.1; done
  kill -KILL "$pid" 2> /dev/null
fi
rm -rf "$1"
`

/** The superuser is whoever can reach the socket; everybody else has a password. */
const hostRules = `local all postgres trust
local all all scram-sha-256
`

/** What is killed here is the process, not the machine: nothing has to reach the disk. */
const defaultSettings = {
  fsync: 'off',
  listen_addresses: `''`,
  max_connections: '100',
  shared_buffers: `'16MB'`,
  min_wal_size: `'4MB'`,
  max_wal_size: `'64MB'`,
  autovacuum_naptime: '10',
  log_min_messages: 'log',
  log_timezone: `'UTC'`,
  timezone: `'UTC'`,
}
