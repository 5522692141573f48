import { expect, test } from 'vitest'
import { migrate } from '../../src/postgres/migrate.ts'
import { PostgresServer } from '../support/postgres.ts'
import { postgresStorm } from '../support/postgres-storm.ts'

test('16 processes are killed, suspended and disconnected 100 times each on a server that is killed 100 times: never two holders', async () => {
  await using server = await PostgresServer.start()
  const database = await server.createDatabase()
  await migrate({ pool: server.pool({ database }) })
  const report = await postgresStorm({ server, database, processes: 16, strikes: 100 })
  console.log(report)
  expect(report).toMatchObject({
    overlaps: [],
    faults: [],
    serverKills: 100,
    cuts: 100,
    stops: 100,
    kills: 100,
  })
  expect(report.grants).toBeGreaterThan(1000)
  expect(report.lapses).toBeGreaterThan(0)
})
