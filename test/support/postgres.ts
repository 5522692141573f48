import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { findPrograms, type PostgresPrograms, serverParent } from './postgres-binaries.ts'
import { copyNewData } from './postgres-new-data.ts'
import { onSmallDisk } from './postgres-small-disk.ts'
import { until } from './world.ts'

export interface TestServerOptions {
  /** The size of a small second disk, as `mount` takes it. */
  smallDisk?: string
}

/**
 * A PostgreSQL server for tests, on a Unix socket in its own directory. It ends with the test process, even
 * if that is killed: a shell at the other end of a pipe kills the server and removes its files when the pipe
 * closes.
 */
export class PostgresServer implements AsyncDisposable {
  readonly directory: string
  readonly #data: string
  readonly #programs: PostgresPrograms
  readonly #keeper: ChildProcess
  readonly #pools: pg.Pool[] = []
  readonly #options: TestServerOptions
  #postmaster: ChildProcess | undefined
  #databases = 0
  #log = ''

  private constructor(directory: string, options: TestServerOptions) {
    this.directory = directory
    this.#options = options
    this.#data = join(directory, 'data')
    this.#keeper = spawn('sh', ['-c', keeperScript, 'sh', directory], {
      stdio: ['pipe', 'ignore', 'ignore'],
      // A group of its own, so that Ctrl-C reaches only the tests; the keeper notices when they end.
      detached: true,
    })
    this.#programs = findPrograms(directory)
  }

  /** Starts a server. `settings` go into its configuration file. */
  static async start(
    settings: Record<string, string> = {},
    options: TestServerOptions = {},
  ): Promise<PostgresServer> {
    const directory = realpathSync(mkdtempSync(join(serverParent(), 'stint-pg-')))
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

  /**
   * Starts a standby of another server, from a copy of its data. The other server is stopped meanwhile. It
   * does not wait for the standby until `requireStandby` is called.
   */
  static async standbyOf(primary: PostgresServer): Promise<PostgresServer> {
    const directory = realpathSync(mkdtempSync(join(serverParent(), 'stint-pg-')))
    const server = new PostgresServer(directory, {})
    try {
      await primary.stop()
      await server.#copyData(primary)
      await primary.start()
      await server.start()
      return server
    } catch (error) {
      await server[Symbol.asyncDispose]()
      throw error
    }
  }

  /** From now on, a commit waits until the standby has it. */
  async requireStandby(isRequired = true): Promise<void> {
    await this.admin(`ALTER SYSTEM SET synchronous_standby_names = '${isRequired ? standbyName : ''}'`)
    await this.admin('SELECT pg_reload_conf()')
    if (!isRequired) return
    await until('the standby is synchronous', async () => {
      const [row] = await this.admin(`SELECT FROM pg_stat_replication WHERE sync_state = 'sync'`)
      return row !== undefined
    })
  }

  /** The directory on the small disk, for a tablespace. */
  get smallDisk(): string {
    return join(this.directory, 'small/space')
  }

  get #roomSignal(): string {
    return join(this.directory, 'make-room')
  }

  /** Frees some space on the small disk, within a moment. */
  makeRoom(): void {
    writeFileSync(this.#roomSignal, '')
  }

  get pid(): number {
    return this.#postmaster?.pid ?? 0
  }

  /** The URL for a client. The superuser `postgres` needs no password. */
  url({ user = 'postgres', password = '', database = 'postgres' } = {}): string {
    const who = password === '' ? user : `${user}:${encodeURIComponent(password)}`
    return `postgresql://${who}@/${database}?host=${encodeURIComponent(this.directory)}`
  }

  /** Creates an empty database and returns its name. */
  async createDatabase(): Promise<string> {
    const name = `db${++this.#databases}`
    await this.admin(`CREATE DATABASE ${name}`)
    return name
  }

  /** A pool that ends with the server. */
  pool(config: pg.PoolConfig & { user?: string; database?: string } = {}): pg.Pool {
    const pool = new pg.Pool({ host: this.directory, user: 'postgres', database: 'postgres', ...config })
    // Tests kill the server on purpose; the next query reports it.
    pool.on('error', () => {})
    this.#pools.push(pool)
    return pool
  }

  /** Runs SQL as the superuser, on a connection of its own. */
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

  /** Starts the server, also after it was killed. */
  async start(): Promise<void> {
    // A new server exits at once while processes of the killed one still have its shared memory.
    const end = Date.now() + 60_000
    while (!(await this.#tryStart())) {
      if (Date.now() > end) throw new Error(`PostgreSQL does not start:\n${this.#log}`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }

  /** Kills the server, as a power cut would, except that the disk keeps what was written. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL')
  }

  /** Shuts the server down in order: it ends every connection, and writes everything to disk. */
  async stop(): Promise<void> {
    await this.#end('SIGINT')
  }

  /** Restarts the server as a replica, which accepts no writes. */
  async becomeReplica(): Promise<void> {
    await this.kill()
    writeFileSync(join(this.#data, 'standby.signal'), '')
    await this.start()
  }

  /** Promotes the replica, as if its primary were lost. */
  async promote(): Promise<void> {
    await this.admin('SELECT pg_promote()')
  }

  /** Closes the pipe to the keeper, as the kernel does when this process is killed. */
  abandon(): void {
    this.#keeper.stdin?.destroy()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = Promise.allSettled(this.#pools.map((pool) => pool.end()))
    // A pool waits for its connections; those in use end with the server.
    // SIGQUIT: it need not write anything to disk any more.
    await Promise.race([ended, this.#end('SIGQUIT')])
    const kept = once(this.#keeper, 'exit')
    this.#keeper.stdin?.end()
    if (this.#keeper.exitCode === null) await kept
    rmSync(this.directory, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const postmaster = this.#postmaster
    if (postmaster === undefined || postmaster.exitCode !== null || postmaster.signalCode !== null) return
    const ended = once(postmaster, 'exit')
    postmaster.kill(signal)
    await ended
  }

  async #copyData(primary: PostgresServer): Promise<void> {
    const { uid, gid } = this.#programs
    // Keeps the owner and the mode of each file.
    await promisify(execFile)('cp', ['-a', primary.#data, this.#data])
    if (uid !== undefined && gid !== undefined) chownSync(this.directory, uid, gid)
    chmodSync(this.directory, 0o755)
    rmSync(join(this.#data, 'postmaster.pid'), { force: true })
    writeFileSync(join(this.#data, 'standby.signal'), '')
    const source = `host=${primary.directory} user=postgres application_name=${standbyName}`
    appendFileSync(
      join(this.#data, 'postgresql.auto.conf'),
      `primary_conninfo = '${source}'\nsynchronous_standby_names = ''\n`,
    )
  }

  async #initialise(settings: Record<string, string>): Promise<void> {
    const { uid, gid } = this.#programs
    if (uid !== undefined && gid !== undefined) chownSync(this.directory, uid, gid)
    if (this.#options.smallDisk !== undefined) mkdirSync(join(this.directory, 'small'))
    // Clients may run as other users; they need a password.
    chmodSync(this.directory, 0o755)
    await copyNewData(this.#data, this.#programs)
    writeFileSync(join(this.#data, 'pg_hba.conf'), hostRules)
    const lines = Object.entries({ ...defaultSettings, ...settings }).map(
      ([name, value]) => `${name} = ${value}`,
    )
    writeFileSync(join(this.#data, 'postgresql.auto.conf'), `${lines.join('\n')}\n`)
  }

  /** Returns false if the server exits before it is ready. */
  async #tryStart(): Promise<boolean> {
    const { postgres, env, uid, gid } = this.#programs
    const { smallDisk } = this.#options
    const args = ['-D', this.#data, '-k', this.directory]
    const plain = { command: postgres, args, uid, gid }
    const disk = { path: join(this.directory, 'small'), size: smallDisk ?? '', signal: this.#roomSignal }
    const start = smallDisk === undefined ? plain : onSmallDisk(disk, args, this.#programs)
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

/** Waits until its input ends, with the tests. Checks the directory of the process: the pid may be reused. */
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

/** The superuser needs no password; every other role does. */
const hostRules = `local all,replication postgres trust
local all all scram-sha-256
`

/** By this name the primary knows its synchronous standby. */
const standbyName = 'standby'

/** Tests kill the server, not the machine, so nothing has to be synced. */
const defaultSettings = {
  fsync: 'off',
  listen_addresses: `''`,
  max_connections: '100',
  shared_buffers: `'16MB'`,
  min_wal_size: `'4MB'`,
  max_wal_size: `'64MB'`,
  wal_keep_size: `'64MB'`,
  autovacuum_naptime: '10',
  log_min_messages: 'log',
  log_timezone: `'UTC'`,
  timezone: `'UTC'`,
}
