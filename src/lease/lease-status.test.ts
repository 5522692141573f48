import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { until, World } from '../../test/support/world.ts'
import { fileStore } from './file-register.ts'
import { acquireLease } from './lease.ts'
import { leaseStatus } from './lease-status.ts'
import { type LeaseStore, memoryStore } from './register.ts'

let world: World
beforeEach(() => {
  world = new World()
})
afterEach(() => world[Symbol.asyncDispose]())

const stores: Record<string, () => LeaseStore> = {
  files: () => fileStore(join(world.tmp, 'my locks')),
  memory: () => memoryStore(),
}

test.each(Object.keys(stores))(
  'the status of a lease in %s says who holds it and who waits',
  async (kind) => {
    const store = (stores[kind] as () => LeaseStore)()
    const target = { resource: 'deploy:prod', store }
    expect(await leaseStatus(target)).toEqual({
      workspace: 'deploy:prod',
      isFree: true,
      claims: [],
      waiters: [],
    })
    const lease = await acquireLease({ ...target, sessionId: 'a', purpose: 'release 42', pid: null })
    const waiting = acquireLease({ ...target, sessionId: 'b', wait: '1m' })
    await until('b waits', async () => (await leaseStatus(target)).waiters[0]?.sessionId === 'b')
    expect(await leaseStatus(target)).toMatchObject({
      isFree: false,
      claims: [
        {
          sessionId: 'a',
          pid: null,
          liveness: 'unknown',
          expiresInMs: expect.any(Number) as number,
          mode: 'exclusive',
          purpose: 'release 42',
          fence: lease.fence,
        },
      ],
    })
    await lease.release()
    await (await waiting).release()
    expect((await leaseStatus(target)).isFree).toBe(true)
  },
)

test.each(Object.keys(stores))('a lease in %s is on any text, which is not that of another', async (kind) => {
  const store = (stores[kind] as () => LeaseStore)()
  const texts = [
    'deploy:prod',
    'a row of "orders"',
    'https://example.com/?q=ü',
    '../../etc',
    '🧵',
    'ü'.repeat(2048),
  ]
  const leases = await Promise.all(
    texts.map((resource) => acquireLease({ resource, store, sessionId: 'a', pid: null })),
  )
  expect(leases.map(({ workspace }) => workspace)).toEqual(texts)
  for (const resource of texts)
    await expect(acquireLease({ resource, store, sessionId: 'b' })).rejects.toMatchObject({
      code: 'LOCK_HELD',
    })
  for (const resource of ['', 'x'.repeat(4097), 'a\0b', '\ud83e', 5 as never])
    await expect(acquireLease({ resource, store, sessionId: 'b' })).rejects.toMatchObject({
      code: 'ARG_ERROR',
    })
  for (const lease of leases) await lease.release()
})

test('a lease on a file is the same under each path of the file, and needs no file', async () => {
  const store = fileStore(world.tmp)
  mkdirSync(join(world.tmp, 'data'))
  writeFileSync(join(world.tmp, 'data/state.json'), '')
  symlinkSync('data', join(world.tmp, 'link'))
  const file = join(world.tmp, 'data/state.json')
  const lease = await acquireLease({ file, store, sessionId: 'a', pid: null })
  expect(lease.workspace).toBe(`file:${file}`)
  const other = { file: join(world.tmp, 'link/../link/state.json'), store }
  await expect(acquireLease({ ...other, sessionId: 'b' })).rejects.toMatchObject({ code: 'LOCK_HELD' })
  expect((await leaseStatus(other)).claims).toMatchObject([{ sessionId: 'a' }])
  const missing = { file: join(world.tmp, 'data/missing'), store }
  await (await acquireLease({ ...missing, sessionId: 'b' })).release()
  await lease.release()
})
