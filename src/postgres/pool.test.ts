import { afterAll, beforeAll, expect, test } from 'vitest'
import { PostgresProxy } from '../../test/support/postgres-proxy.ts'
import { PostgresServer } from '../../test/support/postgres.ts'
import { onConnection } from './pool.ts'

let server: PostgresServer

beforeAll(async () => {
  server = await PostgresServer.start()
})

afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

test('a connection that the server ends together with its first answer rejects a query, and not the process', async () => {
  await using proxy = await PostgresProxy.to(server.directory)
  const pool = server.pool({ database: await server.createDatabase(), host: proxy.directory })
  // The start of a connection, which names the user.
  proxy.strike('user', 'end with answer')
  const asked = onConnection(pool, (client) => client.query('SELECT 1'))
  await expect(asked).rejects.toThrow(/terminat|not queryable/)
  expect(proxy.faults).toBe(1)
  const answer = await onConnection(pool, (client) => client.query('SELECT 2 AS n'))
  expect(answer.rows).toEqual([{ n: 2 }])
})
