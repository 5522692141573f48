import { migrate } from '../../src/postgres/migrate.ts'
import { fenceFaults, overlapsOf, readHoldLog } from './hold-log.ts'
import { PgBouncer } from './pgbouncer.ts'
import type { PostgresCluster } from './postgres-cluster.ts'
import { judgeSessions } from './postgres-session-storm-verdict.ts'
import { PostgresSessions } from './postgres-sessions.ts'
import { StormProcesses } from './storm-processes.ts'
import { until } from './world.ts'

export interface FailoverStormOptions {
  cluster: PostgresCluster
  /** How many processes write sessions, and how many contend for a lease. */
  processes: number
  failovers: number
}

export interface FailoverStormReport {
  failovers: number
  /** Commits that a primary had carried out alone when it was killed. */
  unreplicated: number
  lostAnswers: number
  acknowledged: number
  grants: number
  /** Pairs of sessions that held the lease at the same time. */
  overlaps: string[]
  faults: string[]
}

const answersLost = 5
const shared = 'shared'
const ttlMs = 400

/**
 * Processes write sessions and contend for a lease, through PgBouncer in transaction mode. Answers of the
 * server are lost on the way, and the primary fails over to its synchronous standby.
 */
export async function failoverStorm({
  cluster,
  processes,
  failovers,
}: FailoverStormOptions): Promise<FailoverStormReport> {
  const { proxy } = cluster
  const database = await cluster.primary.createDatabase()
  await migrate({ pool: cluster.primary.pool({ database }) })
  await using bouncer = await PgBouncer.to(proxy.directory, 'transaction')
  const url = `postgresql://postgres@/${database}?host=${encodeURIComponent(bouncer.directory)}`
  await using writers = new StormProcesses('postgres-session-writer.mjs', cluster.primary, database)
  await using contenders = new StormProcesses('postgres-contender.mjs', cluster.primary, database)
  const ids = Array.from({ length: processes }, (_, i) => `session-${i}`)
  await Promise.all(
    ids.flatMap((id) => [
      writers.start(id, { url, id, shared, callers: 4, naive: false }),
      contenders.start('a contender', { url, ttlMs, skewMs: 0, broken: false }),
    ]),
  )
  const count = (storm: StormProcesses, word: string): number =>
    storm.living().length && storm.logs().reduce((sum, { text }) => sum + text.split(word).length - 1, 0)
  const more = async (): Promise<void> => {
    const goals = [count(writers, 'ack ') + processes * 10, count(contenders, 'enter ') + processes]
    await until(
      'appends and leases go on',
      () => count(writers, 'ack ') >= (goals[0] ?? 0) && count(contenders, 'enter ') >= (goals[1] ?? 0),
    )
  }
  let [unreplicated, lostAnswers] = [0, 0]
  for (let round = 0; round < failovers; round++) {
    await more()
    for (const statement of ['bytes = bytes + $6', 'UPDATE stint.register']) {
      for (let n = 0; n < answersLost; n++, lostAnswers++) {
        const before = proxy.faults
        proxy.strike(statement, 'cut after')
        await until('an answer is lost', () => proxy.faults > before)
      }
    }
    await more()
    unreplicated += await cluster.failOver()
  }
  await more()
  await Promise.all([writers.end(), contenders.end()])
  const sessions = new PostgresSessions(cluster.primary, database, cluster.primary.pool({ database }), proxy)
  const logs = contenders.logs().map(({ text }) => readHoldLog(text, { slack: 2_000_000n }))
  const holds = logs.flatMap((log) => log.holds)
  const { faults } = await judgeSessions(sessions, [...ids, shared], writers.logs())
  return {
    failovers,
    unreplicated,
    lostAnswers,
    acknowledged: writers.logs().reduce((sum, { text }) => sum + text.split('ack ').length - 1, 0),
    grants: holds.length,
    overlaps: overlapsOf(holds),
    faults: [...faults, ...fenceFaults(holds).faults, ...logs.flatMap((log) => log.faults)],
  }
}
