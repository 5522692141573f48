import { expect, test } from 'vitest'
import { LockWorld } from '../../test/support/lock-world.ts'
import { World } from '../../test/support/world.ts'
import { identify, type Liveness, ownIdentity } from '../base/process/liveness.ts'
import { isSameProcess } from './claim.ts'
import { fileStore, homeStore } from './file-register.ts'
import { isInForce } from './force.ts'
import { memoryStore } from './register.ts'
import type { AcquireRequest } from './rules.ts'
import { lookingOnce, WorkspaceClaims } from './workspace-claims.ts'

const request = (sessionId: string, more: Partial<AcquireRequest> = {}): AcquireRequest => ({
  sessionId,
  holder: ownIdentity(),
  paths: ['**'],
  mode: 'exclusive',
  forMs: 60_000,
  ...more,
})

test('a decision looks at each process once, however often its rules ask', () => {
  let looks = 0
  const look = lookingOnce(() => {
    looks += 1
    return 'alive'
  })
  const [own, other] = [ownIdentity(), { ...ownIdentity(), pid: 1 }]
  expect([own, own, other].map((each) => look(each))).toEqual(['alive', 'alive', 'alive'])
  expect(looks).toBe(2)
})

test('a decision that is repeated, because another writer was faster, looks at the processes anew', async () => {
  await using world = new World()
  const { pid, child, finished } = world.start('sleep', ['300'])
  const process = identify(pid) ?? ownIdentity()
  const store = memoryStore()
  const claims = WorkspaceClaims.open(store, { resource: 'deploy' })
  const seen: Liveness[] = []
  await claims.change(async (record, { liveness }) => {
    seen.push(liveness(process))
    if (seen.length === 1) {
      await store.register.swap(claims.key, 0, '')
      child.kill('SIGKILL')
      await finished
    }
    return { answer: undefined, next: record }
  })
  expect(seen).toEqual(['alive', 'dead'])
})

test('of sessions that ask at the same moment, exactly one is granted, again and again', async () => {
  await using world = new World()
  const claims = WorkspaceClaims.open(fileStore(world.tmp), { resource: 'deploy' })
  for (let round = 0; round < 20; round++) {
    const sessions = Array.from({ length: 8 }, (_, i) => `s${i}`)
    const answers = await Promise.all(sessions.map((id) => claims.tryAcquire(request(id))))
    const granted = sessions.filter((_, i) => answers[i]?.answer.granted)
    expect(granted).toHaveLength(1)
    expect(await claims.release({ sessionId: granted[0] ?? '' })).toMatchObject({ released: true })
  }
})

test('untilFree waits for a release without claiming, and gives up after its time', async () => {
  const claims = WorkspaceClaims.open(memoryStore(), { resource: 'deploy' })
  await claims.acquire(request('holder'))
  await expect(claims.untilFree(request('other'), { waitMs: 20 })).rejects.toMatchObject({
    code: 'LOCK_HELD',
  })
  const isFree = claims.untilFree(request('other'))
  await claims.release({ sessionId: 'holder' })
  await isFree
  expect((await claims.read()).record.claims).toEqual([])
})

test('two workspaces with one key do not share claims', async () => {
  const store = memoryStore()
  const claims = new WorkspaceClaims(store, { key: 'k', name: '/one', whole: ['**'] })
  await claims.acquire(request('a'))
  const other = new WorkspaceClaims(store, { key: 'k', name: '/two', whole: ['**'] })
  await expect(other.read()).rejects.toMatchObject({ code: 'LOCK_KEY_COLLISION' })
})

test('a damaged record is free, and its successor has a higher fence than any before', async () => {
  await using world = new LockWorld()
  const claims = WorkspaceClaims.open(homeStore(world.env), { workspace: world.workspace })
  const before = await claims.acquire(request('a', { paths: claims.target.whole }))
  world.plant('')
  const after = await claims.acquire(request('b', { paths: claims.target.whole }))
  expect(after.answer.claim.fence).toBeGreaterThan(before.answer.claim.fence)
})

test('a claim of another boot has no living holder; one of another time namespace is judged by the wall clock', async () => {
  await using world = new LockWorld()
  const claims = WorkspaceClaims.open(homeStore(world.env), { workspace: world.workspace })
  const own = ownIdentity()
  const inForce = async (): Promise<boolean[]> => {
    const { record, observation } = await claims.read()
    return record.claims.map((claim) => isInForce(claim, observation))
  }
  world.plantClaim({ holders: [{ ...own, boot: 'another' }], clock: 'another/1' })
  expect(await inForce()).toEqual([false])
  world.plantClaim({ holders: [own], clock: 'another/1', until: -1 })
  expect(await inForce()).toEqual([true])
  world.plantClaim({ holders: [own], clock: 'another/1', until_wall: Date.now() - 1 })
  expect(await inForce()).toEqual([false])
  expect(isSameProcess(own, { ...own, boot: 'another' })).toBe(false)
})
