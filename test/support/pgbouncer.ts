import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, existsSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { serverParent, serverUser } from './postgres-binaries.ts'
import { until } from './world.ts'

/** PgBouncer between clients, which connect to `directory`, and the server or proxy in another directory. */
export class PgBouncer implements AsyncDisposable {
  readonly directory = realpathSync(mkdtempSync(join(serverParent(), 'stint-bouncer-')))
  readonly #keeper: ChildProcess

  private constructor(serverDirectory: string, poolMode: 'transaction' | 'statement') {
    const { uid, gid } = serverUser
    if (uid !== undefined && gid !== undefined) chownSync(this.directory, uid, gid)
    chmodSync(this.directory, 0o755)
    const config = join(this.directory, 'pgbouncer.ini')
    writeFileSync(config, configuration(this.directory, serverDirectory, poolMode))
    this.#keeper = spawn('sh', ['-c', keeperScript, 'sh', config], {
      uid,
      gid,
      cwd: this.directory,
      stdio: ['pipe', 'ignore', 'ignore'],
      // A group of its own, so that Ctrl-C reaches only the tests; the keeper notices when they end.
      detached: true,
    })
  }

  static async to(serverDirectory: string, poolMode: 'transaction' | 'statement'): Promise<PgBouncer> {
    const bouncer = new PgBouncer(serverDirectory, poolMode)
    await until('PgBouncer listens', () => existsSync(join(bouncer.directory, '.s.PGSQL.5432')))
    return bouncer
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#keeper, 'exit')
    this.#keeper.stdin?.end()
    if (this.#keeper.exitCode === null) await ended
    rmSync(this.directory, { recursive: true, force: true })
  }
}

/** Ends PgBouncer when its input ends, with the tests. */
const keeperScript = `
pgbouncer -q "$1" < /dev/null & pid=$!
cat > /dev/null
kill "$pid"
wait "$pid"
`

/** Clients are not asked for a password: the directory of the server decides who may connect. */
const configuration = (directory: string, serverDirectory: string, poolMode: string): string => `[databases]
* = host=${serverDirectory} user=postgres
[pgbouncer]
unix_socket_dir = ${directory}
listen_port = 5432
logfile = ${directory}/log
auth_type = any
pool_mode = ${poolMode}
default_pool_size = 20
max_client_conn = 200
server_login_retry = 0
`
