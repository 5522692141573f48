import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { PostgresServer } from '../../../test/support/postgres.ts'
import { migrate } from '../migrate.ts'
import { until } from '../../testing/conformance-case.ts'
import { postgresStore } from './medium.ts'

/** Data that the server cannot compress. */
const noise = () => randomBytes(60_000).toString('base64')

test('a full disk on the server is DISK_FULL, loses nothing, and the session goes on when there is space again', async () => {
  await using server = await PostgresServer.start({}, { smallDisk: '48m' })
  await server.admin(`CREATE TABLESPACE small LOCATION '${server.smallDisk}'`)
  await server.admin('CREATE DATABASE small TABLESPACE small')
  const pool = server.pool({ database: 'small' })
  await migrate({ pool })
  await server.admin('CHECKPOINT')
  const store = postgresStore({ pool })
  const session = await store.create({ id: 'mine' })
  const slot = session.slot('s', { version: '1', initial: 0 })
  await slot.set(1)
  let written = 0
  const fill = async () => {
    for (;;) {
      await session.append({ type: 'note', data: { n: written + 1, noise: noise() } })
      written += 1
    }
  }
  await expect(fill()).rejects.toMatchObject({
    code: 'DISK_FULL',
    exit: 12,
    hint: expect.stringContaining('on the server of the database') as string,
  })
  expect(written).toBeGreaterThan(10)
  server.makeRoom()
  await until('there is space again', () =>
    session.append({ type: 'note', data: { n: written + 1 } }).then(
      () => true,
      () => false,
    ),
  )
  await session.close()
  const inspection = await store.inspect('mine')
  expect(await inspection.health()).toMatchObject({ ok: true })
  const numbers: number[] = []
  for await (const event of inspection.events()) numbers.push((event.data as { n: number }).n)
  expect(numbers).toEqual(Array.from({ length: written + 1 }, (_, i) => i + 1))
})
