import { mkdirSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { copyPrograms } from '../../../test/support/copy-tree.ts'
import { dataOf, errorOf, LockWorld } from '../../../test/support/lock-world.ts'
import { PostgresServer } from '../../../test/support/postgres.ts'
import { projectRoot, stintBin } from '../../../test/support/world.ts'
import { schemaVersion as version } from '../schema.ts'

let server: PostgresServer
beforeAll(async () => {
  server = await PostgresServer.start()
})
afterAll(() => server[Symbol.asyncDispose]())

test('migrate creates the schema once; --print-sql prints the SQL for that, and needs no server', async () => {
  await using world = new LockWorld()
  const [one, two] = [await server.createDatabase(), await server.createDatabase()]
  world.env.STINT_STORE = server.url({ database: one })
  expect(dataOf(await world.stint(['postgres', 'migrate', '--json']))).toEqual({
    created: true,
    version,
  })
  expect(dataOf(await world.stint(['postgres', 'migrate', '--json']))).toMatchObject({ created: false })
  expect((await world.stint(['postgres', 'migrate'])).stdout).toBe(
    `the schema has version ${version}: nothing to do\n`,
  )

  const printed = await world.stint(['postgres', 'migrate', '--print-sql'], { env: { STINT_STORE: '' } })
  expect(printed).toMatchObject({ code: 0, stderr: '' })
  await server.admin(printed.stdout, two)
  const url = server.url({ database: two })
  expect(dataOf(await world.stint(['postgres', 'migrate', '--json', '--store', url]))).toMatchObject({
    created: false,
    version,
  })
  expect(dataOf(await world.stint(['lock', 'status', '--json', '--store', url]))).toMatchObject({
    claims: [],
  })
})

test('without a store, migrate exits with 2 and names STINT_STORE', async () => {
  await using world = new LockWorld()
  const result = await world.stint(['postgres', 'migrate', '--json'])
  expect([result.code, errorOf(result)?.suggestion]).toEqual([2, expect.stringContaining('STINT_STORE')])
})

test('pg is loaded from beside stint or from the current directory; if it is missing, the error says how to install it', async () => {
  await using world = new LockWorld()
  world.env.STINT_STORE = server.url({ database: await server.createDatabase() })
  // A stint without pg beside it.
  const bin = join(world.tmp, 'alone/node_modules/stint/dist/bin')
  copyPrograms(dirname(stintBin), bin)
  const migrate = (cwd: string) =>
    world.start(process.execPath, [join(bin, 'stint.cjs'), 'postgres', 'migrate', '--json'], { cwd }).finished
  const missing = await migrate(world.workspace)
  expect(missing.code).toBe(4)
  expect(errorOf(missing)).toMatchObject({
    code: 'POSTGRES_CLIENT_MISSING',
    suggestion: expect.stringContaining('npm i pg') as string,
  })

  mkdirSync(join(world.workspace, 'node_modules'))
  const pg = join(projectRoot, 'node_modules/pg')
  symlinkSync(pg, join(world.workspace, 'node_modules/pg'))
  expect(dataOf(await migrate(world.workspace))).toMatchObject({ created: true })
  symlinkSync(pg, join(world.tmp, 'alone/node_modules/pg'))
  expect(dataOf(await migrate(world.tmp))).toMatchObject({ created: false })
})
