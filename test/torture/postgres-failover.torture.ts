import { expect, test } from 'vitest'
import { migrate } from '../../src/postgres/migrate.ts'
import { postgresStore } from '../../src/postgres/store/medium.ts'
import { purge } from '../../src/postgres/store/purge.ts'
import { PgBouncer } from '../support/pgbouncer.ts'
import { PostgresCluster } from '../support/postgres-cluster.ts'
import { failoverStorm } from '../support/postgres-failover-storm.ts'
import { PostgresServer } from '../support/postgres.ts'

test('20 failovers to a synchronous standby, behind PgBouncer in transaction mode, with lost answers: each acknowledged append is there once, in order, without a gap, never two holders, and no fence repeats', async () => {
  await using cluster = await PostgresCluster.start()
  const report = await failoverStorm({ cluster, processes: 4, failovers: 20 })
  console.log(report)
  expect(report).toMatchObject({ overlaps: [], faults: [], failovers: 20, lostAnswers: 200 })
  expect(report.unreplicated).toBeGreaterThan(20)
})

test('behind PgBouncer in statement mode, sessions work, and a purge says at once which mode it needs', async () => {
  await using server = await PostgresServer.start()
  const database = await server.createDatabase()
  await migrate({ pool: server.pool({ database }) })
  await using bouncer = await PgBouncer.to(server.directory, 'statement')
  const pool = server.pool({ database, host: bouncer.directory })
  const store = postgresStore({ pool })
  const session = await store.create({ id: 'mine' })
  await session.append([{ type: 'note' }, { type: 'note' }])
  await session.close()
  const fork = await store.fork('mine')
  expect(fork.lastSeq).toBe(2)
  await fork.close()
  await expect(purge({ pool, olderThanMs: 0 })).rejects.toMatchObject({
    code: 'POSTGRES_POOL_MODE',
    retryable: false,
    hint: expect.stringContaining('transaction or session') as string,
  })
})
