import { afterAll, beforeAll, expect, test } from 'vitest'
import { LockWorld } from '../../../test/support/lock-world.ts'
import { PostgresServer } from '../../../test/support/postgres.ts'
import { postgresWorld } from '../../../test/support/postgres-world.ts'
import type { World } from '../../../test/support/world.ts'
import type { Check } from './check.ts'
import type { StatusData } from '../status/gather.ts'

let server: PostgresServer
beforeAll(async () => {
  server = await PostgresServer.start()
})
afterAll(() => server[Symbol.asyncDispose]())

async function diagnose(world: World): Promise<Check | undefined> {
  const { data } = (await world.stint(['doctor', '--json'], { cwd: world.tmp })).envelope()
  return (data as { checks: Check[] }).checks.find(({ name }) => name === 'postgres')
}

test('a server without our tables fails, and passes after its fix; a read-only server fails', async () => {
  await using world = new LockWorld()
  const database = await server.createDatabase()
  world.env.STINT_STORE = server.url({ database })
  const before = await diagnose(world)
  expect(before).toMatchObject({ level: 'fail', fix: expect.stringContaining('stint postgres migrate') })
  expect((await world.stint(['postgres', 'migrate'])).code).toBe(0)
  expect(await diagnose(world)).toMatchObject({ level: 'ok' })
  await server.pool({ database }).query(`ALTER DATABASE ${database} SET default_transaction_read_only = on`)
  expect(await diagnose(world)).toMatchObject({ level: 'fail', text: expect.stringContaining('no writes') })
})

test('status shows claims and sessions on the server beside those in files', async () => {
  await using world = await postgresWorld(server)
  await world.stint(['lock', 'acquire', '--session', 'a', '--resource', 'shared'])
  await world.stint(['lock', 'acquire', '--session', 'b', '--resource', 'local', '--store', 'files'])
  await world.stint(['run', '--record', '--session', 'here', '--store', 'files', '--', 'true'])
  await world.stint(['run', '--record', '--session', 'there', '--', 'true'])
  const { data } = (await world.stint(['status', '--json'], { cwd: world.workspace })).envelope()
  const { workspaces, sessions } = data as StatusData
  expect(workspaces.map(({ resource, store }) => [resource, store])).toEqual([
    ['local', 'files'],
    ['shared', 'postgres'],
  ])
  expect(sessions).toMatchObject({ total: 2, states: { closed: 2 }, open: [] })
})
