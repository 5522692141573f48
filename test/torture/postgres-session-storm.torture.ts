import { expect, test } from 'vitest'
import { PostgresServer } from '../support/postgres.ts'
import { sessionStorm } from '../support/postgres-session-storm.ts'
import { PostgresSessions } from '../support/postgres-sessions.ts'

test('10,000 appends from 8 processes while the server is killed 5 times: each acknowledged one is there once, in order, without a gap', async () => {
  await using server = await PostgresServer.start()
  await using sessions = await PostgresSessions.on(server)
  const report = await sessionStorm({ server, sessions, processes: 8, strikes: 5, appends: 10_000 })
  console.log(report)
  expect(report).toMatchObject({ faults: [], serverKills: 5, cuts: 5, kills: 5, fenced: 5, lostAnswers: 25 })
  expect(report.acknowledged).toBeGreaterThanOrEqual(10_000)
})

test('40 rounds of the storm: each acknowledged append is there once, in order, without a gap', async () => {
  await using server = await PostgresServer.start()
  await using sessions = await PostgresSessions.on(server)
  const report = await sessionStorm({ server, sessions, processes: 8, strikes: 40, appends: 10_000 })
  console.log(report)
  expect(report).toMatchObject({ faults: [], serverKills: 40, kills: 40, fenced: 40 })
})
