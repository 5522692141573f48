import { afterAll, beforeAll, expect, test } from 'vitest'
import { migrate } from './migrate.ts'
import { PostgresServer } from '../../test/support/postgres.ts'
import { postgresStorm } from '../../test/support/postgres-storm.ts'

let server: PostgresServer
beforeAll(async () => {
  server = await PostgresServer.start()
})
afterAll(() => server[Symbol.asyncDispose]())

async function ground() {
  const database = await server.createDatabase()
  await migrate({ pool: server.pool({ database }) })
  return { server, database }
}

test('8 processes whose clocks disagree, killed, stopped and cut off, on a server that is killed, too: never two holders', async () => {
  const report = await postgresStorm({ ...(await ground()), processes: 8, strikes: 1 })
  console.log(report)
  expect(report).toMatchObject({ overlaps: [], faults: [], serverKills: 1, cuts: 1, stops: 1, kills: 1 })
  expect(report.grants).toBeGreaterThan(15)
})

test('the same storm sees two holders where a swap does not ask whether it is still the same', async () => {
  const enough = ({ overlaps, faults }: { overlaps: string[]; faults: string[] }) =>
    overlaps.length > 0 && faults.length > 0
  const report = await postgresStorm({ ...(await ground()), processes: 4, strikes: 20, broken: true, enough })
  console.log({ ...report, overlaps: report.overlaps.length, faults: report.faults.length })
  expect(enough(report)).toBe(true)
})
