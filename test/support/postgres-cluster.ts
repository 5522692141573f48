import { PostgresProxy } from './postgres-proxy.ts'
import { PostgresServer } from './postgres.ts'
import { until } from './world.ts'

/** A primary with a synchronous standby, and a proxy that leads clients to the one that is the primary. */
export class PostgresCluster implements AsyncDisposable {
  readonly proxy: PostgresProxy
  #primary: PostgresServer
  #standby: PostgresServer

  private constructor(primary: PostgresServer, standby: PostgresServer, proxy: PostgresProxy) {
    this.#primary = primary
    this.#standby = standby
    this.proxy = proxy
  }

  static async start(): Promise<PostgresCluster> {
    const primary = await PostgresServer.start()
    const standby = await PostgresServer.standbyOf(primary)
    await primary.requireStandby()
    return new PostgresCluster(primary, standby, await PostgresProxy.to(primary.directory))
  }

  get primary(): PostgresServer {
    return this.#primary
  }

  /**
   * The standby vanishes, and commits wait for it. Their connections are terminated, so the primary shows
   * changes that the standby never got. Then the primary is killed, the standby takes over, and the cluster
   * gets another standby. Returns how many commits were waiting.
   */
  async failOver(): Promise<number> {
    const before = this.#primary
    await this.#standby.kill()
    const waiting = `FROM pg_stat_activity WHERE wait_event = 'SyncRep'`
    await until(
      'commits wait for the standby',
      async () => (await before.admin(`SELECT ${waiting}`)).length > 2,
    )
    const ended = await before.admin(`SELECT pg_terminate_backend(pid) ${waiting}`)
    // The clients reconnect, find what they have written, and wait for the standby again.
    await until('clients wait again', async () => (await before.admin(`SELECT ${waiting}`)).length > 2)
    await before.kill()
    this.#primary = this.#standby
    await this.#primary.start()
    await this.#primary.promote()
    this.#standby = await PostgresServer.standbyOf(this.#primary)
    await this.#primary.requireStandby()
    this.proxy.redirect(this.#primary.directory)
    await before[Symbol.asyncDispose]()
    return ended.length
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.proxy[Symbol.asyncDispose]()
    await this.#standby[Symbol.asyncDispose]()
    await this.#primary[Symbol.asyncDispose]()
  }
}
