import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PostgresServer } from '../../../test/support/postgres.ts'
import { PostgresSessions } from '../../../test/support/postgres-sessions.ts'
import { projectRoot } from '../../../test/support/world.ts'
import { sessionStorm } from '../../../test/support/postgres-session-storm.ts'

let server: PostgresServer
beforeAll(async () => {
  server = await PostgresServer.start()
})
afterAll(() => server[Symbol.asyncDispose]())

// `npm run torture` storms 40 times, with 8 processes.
test('4 processes are killed, suspended and disconnected, and the server is killed: each acknowledged append is there once, in order, without a gap', async () => {
  await using sessions = await PostgresSessions.on(server)
  const report = await sessionStorm({ server, sessions, processes: 4, strikes: 1, appends: 400 })
  console.log(report)
  expect(report).toMatchObject({ faults: [], serverKills: 1, cuts: 1, kills: 1, fenced: 1, lostAnswers: 5 })
})

test('the storm finds duplicate records if writers retry without looking up lost answers', async () => {
  await using sessions = await PostgresSessions.on(server)
  const report = await sessionStorm({ server, sessions, processes: 2, strikes: 1, appends: 100, naive: true })
  expect(report.faults.filter((fault) => fault.includes('twice')).length).toBeGreaterThan(0)
})

test('of 4 processes that resume one session, one succeeds and the others get SESSION_LOCKED, also after it was killed', async () => {
  await using sessions = await PostgresSessions.on(server)
  await (await sessions.store.create({ id: 'one' })).close()
  const file = join(projectRoot, 'test/fixtures/postgres-session-rival.mjs')
  const args = [server.url({ database: sessions.database }), 'one']
  let rivals = Array.from({ length: 4 }, () => fork(file, args, { execArgv: [] }))
  const answer = async (rival: ChildProcess) => (await once(rival, 'message'))[0] as { outcome: string }
  try {
    await Promise.all(rivals.map(answer))
    for (let round = 1; round <= 2; round++) {
      const answers = Promise.all(rivals.map(answer))
      for (const rival of rivals) rival.send('go')
      const outcomes = (await answers).map(({ outcome }) => outcome)
      expect(outcomes.toSorted()).toEqual([...Array(rivals.length - 1).fill('SESSION_LOCKED'), 'won'])
      const winner = rivals[outcomes.indexOf('won')] as ChildProcess
      const ended = once(winner, 'exit')
      winner.kill('SIGKILL')
      await ended
      expect(await sessions.store.list()).toMatchObject([{ state: 'crashed', records: round }])
      rivals = rivals.filter((rival) => rival !== winner)
    }
    expect(await sessions.isWhole('one')).toBe(true)
  } finally {
    for (const rival of rivals) rival.kill('SIGKILL')
  }
})
