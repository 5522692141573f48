import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { PostgresServer } from './postgres.ts'
import { isRunning, until } from './world.ts'

test('a server that was killed can be started again, and has what was committed', async () => {
  await using server = await PostgresServer.start()
  await server.admin('CREATE TABLE kept AS SELECT 1 AS one')
  const { pid } = server
  await server.kill()
  expect(isRunning(pid)).toBe(false)
  await server.start()
  expect(await server.admin('SELECT one FROM kept')).toEqual([{ one: 1 }])
})

test('the server and its files are gone after the process that started it was killed', async () => {
  const server = await PostgresServer.start()
  const { pid, directory } = server
  expect(isRunning(pid)).toBe(true)
  server.abandon()
  await until('the server is gone', () => !isRunning(pid) && !existsSync(directory))
})
