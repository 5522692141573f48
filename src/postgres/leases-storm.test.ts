import { afterAll, beforeAll, expect, test } from 'vitest'
import { migrate } from './migrate.ts'
import { PostgresServer } from '../../test/support/postgres.ts'
import { postgresStorm } from '../../test/support/postgres-storm.ts'

let server: PostgresServer
beforeAll(async () => {
  server = await PostgresServer.start()
})
afterAll(() => server[Symbol.asyncDispose]())

async function newDatabase() {
  const database = await server.createDatabase()
  await migrate({ pool: server.pool({ database }) })
  return { server, database }
}

// `npm run torture` storms 100 times, with 16 processes.
test('4 processes with clocks that disagree are killed, suspended and disconnected, and the server is killed: never two holders', async () => {
  const report = await postgresStorm({ ...(await newDatabase()), processes: 4, strikes: 1 })
  console.log(report)
  expect(report).toMatchObject({ overlaps: [], faults: [], serverKills: 1, cuts: 1, stops: 1, kills: 1 })
  expect(report.grants).toBeGreaterThan(8)
})

test('the storm finds two holders if a swap does not check the epoch', async () => {
  const enough = ({ overlaps, faults }: { overlaps: string[]; faults: string[] }) =>
    overlaps.length > 0 && faults.length > 0
  const report = await postgresStorm({
    ...(await newDatabase()),
    processes: 4,
    strikes: 20,
    broken: true,
    enough,
  })
  console.log({ ...report, overlaps: report.overlaps.length, faults: report.faults.length })
  expect(enough(report)).toBe(true)
})
