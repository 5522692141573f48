import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { dataOf, errorOf, SessionWorld } from '../../../test/support/session-world.ts'
import { stintBin } from '../../../test/support/world.ts'
import { unlockSession } from './unlock.ts'

/** Makes sessions whose last record is this many days old. */
async function makeOld(world: SessionWorld, days: Readonly<Record<string, number>>) {
  const { filesystemStore } = await import('../index.ts')
  for (const [id, age] of Object.entries(days)) {
    const now = Date.now() - age * 86_400_000
    const store = filesystemStore({ home: world.home, clock: { now: () => now, mono: () => now } })
    await using session = await store.create({ id, title: `about ${id}` })
    await session.append({ type: 'note' })
  }
}

async function crash(world: SessionWorld, id: string) {
  const holding = await world.hold(id)
  await holding.write(2)
  holding.child.kill('SIGKILL')
  await holding.finished
}

const ids = async (world: SessionWorld): Promise<string[]> =>
  (await world.store.list()).map(({ id }) => id).sort()

test('rm takes several ids, and restore brings them back as they were', async () => {
  await using world = new SessionWorld()
  for (const id of ['a', 'b', 'c']) await world.make(id, 2)
  expect(dataOf(await world.run('rm', 'a', 'b', '--yes')).sessions).toEqual(['a', 'b'])
  expect(await ids(world)).toEqual(['c'])
  const { trash } = dataOf(await world.run('restore'))
  expect(
    trash.map(({ session_id, title }: { session_id: string; title: string }) => [session_id, title]),
  ).toEqual(
    expect.arrayContaining([
      ['a', 'about a'],
      ['b', 'about b'],
    ]),
  )
  expect(dataOf(await world.run('restore', 'a')).restored).toEqual(['a'])
  expect(await ids(world)).toEqual(['a', 'c'])
  const back = await world.store.inspect('a')
  expect([back.summary.state, back.summary.records]).toEqual(['closed', 2])
  expect((await back.health()).ok).toBe(true)
  expect(dataOf(await world.audit('show', 'a')).acts).toMatchObject([{ action: 'restore' }])
  await using resumed = await world.store.resume('a')
  await resumed.append({ type: 'more' })
})

test('rm makes its trash and moves sessions there on a disk without a free block', async () => {
  await using world = new SessionWorld()
  const script = `mkdir -p "$STINT_HOME" && mount -t tmpfs -o size=256k,mode=0700 tmpfs "$STINT_HOME" || exit
    for id in a b; do "$0" "$1" sessions append $id --create --type note > "$2" || exit; done
    "$0" "$1" sessions list > "$2"; cat /dev/zero > "$STINT_HOME/ballast" 2> "$2"
    "$0" "$1" sessions rm a --json; "$0" "$1" sessions list --json
    rm "$STINT_HOME/ballast"; "$0" "$1" sessions restore a --json`
  const { stdout } = await world.unshare(['--mount'], 'sh', [
    '-c',
    script,
    process.execPath,
    stintBin,
    '/dev/null',
  ])
  const answers = stdout.trim().split('\n')
  expect(answers.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { ok: true, warnings: [] },
    { ok: true, data: { sessions: [{ session_id: 'b' }] } },
    { ok: true, data: { restored: ['a'] } },
  ])
})

test('restore takes the newest of several removed under one id, and never replaces a session', async () => {
  await using world = new SessionWorld()
  for (const messages of [1, 2, 3]) {
    await world.make('mine', messages)
    if (messages < 3) await world.store.remove('mine')
  }
  const taken = await world.run('restore', 'mine')
  expect(errorOf(taken)?.code).toBe('NAME_TAKEN')
  expect((await world.store.inspect('mine')).summary.records).toBe(3)
  await world.store.remove('mine')
  expect(dataOf(await world.run('restore')).trash).toHaveLength(3)
  await world.run('restore', 'mine')
  expect((await world.store.inspect('mine')).summary.records).toBe(3)
  expect(errorOf(await world.run('restore', 'other'))?.code).toBe('NOT_FOUND')
  expect(errorOf(await world.run('restore', '--', '../mine'))?.code).toBe('SESSION_ID_INVALID')
})

test('prune by state and age leaves everything else alone', async () => {
  await using world = new SessionWorld()
  await makeOld(world, { old: 40, young: 1 })
  await crash(world, 'crashed')
  await world.hold('active')
  const prune = async (...args: string[]) => dataOf(await world.run('prune', ...args, '--yes')).sessions
  expect(await prune('--state', 'crashed', '--older-than', '30d')).toEqual([])
  expect(await prune('--state', 'closed', '--older-than', '30d')).toEqual(['old'])
  expect(await prune('--state', 'crashed', '--older-than', '0s')).toEqual(['crashed'])
  expect(await ids(world)).toEqual(['active', 'young'])
})

test('a session that cannot be removed stays, the others go, and the answer has both', async () => {
  await using world = new SessionWorld()
  for (const id of ['a', 'z']) await world.make(id, 1)
  await world.hold('held')
  const result = await world.run('rm', 'a', 'held', 'z', '--yes')
  expect(result.code).toBe(4)
  expect(errorOf(result)).toMatchObject({ code: 'SESSION_LOCKED', retryable: false })
  expect(dataOf(result)).toMatchObject({
    changed: [{ session_id: 'a' }, { session_id: 'z' }],
    failed: [{ session_id: 'held', code: 'SESSION_LOCKED' }],
  })
  expect(await ids(world)).toEqual(['held'])
})

test('unlock recovers and closes a crashed session, and leaves a closed one as it is', async () => {
  await using world = new SessionWorld()
  await crash(world, 'mine')
  await world.make('closed', 1)
  expect((await world.store.inspect('mine')).summary.state).toBe('crashed')
  expect(dataOf(await world.run('unlock', 'mine'))).toMatchObject({
    unlocked: true,
    holder: { liveness: 'dead' },
  })
  const { summary, manifest } = await world.store.inspect('mine')
  expect([summary.state, summary.records]).toEqual(['closed', 2])
  expect(manifest.revisions.at(-1)).toMatchObject({ kind: 'close', seq: 2 })
  expect(dataOf(await world.run('unlock', 'closed'))).toMatchObject({ unlocked: false, holder: null })
})

test('a crashed session that another process has resumed is not taken from it by an unlock', async () => {
  await using world = new SessionWorld()
  await crash(world, 'mine')
  const { summary } = await world.store.inspect('mine')
  const holding = await world.hold('mine')
  await expect(unlockSession(world.store, summary)).rejects.toMatchObject({ code: 'SESSION_LOCKED' })
  await holding.close()
})

test('prune says what would go, and moves it only with --yes; what is in use or damaged stays', async () => {
  await using world = new SessionWorld()
  await makeOld(world, { a: 100, b: 95, c: 92, d: 10, e: 1 })
  await makeOld(world, { broken: 200 })
  world.damage('broken', 1)
  await world.run('verify', 'broken')
  const prune = (...args: string[]) => world.run('prune', ...args)
  const [keep, age] = [
    ['--keep', '4'],
    ['--older-than', '90d'],
  ] as const
  expect(dataOf(await prune(...keep, ...age))).toMatchObject({ sessions: ['a'], kept: 5, dry_run: true })
  expect(dataOf(await prune(...age))).toMatchObject({ sessions: ['c', 'b', 'a'], kept: 3 })
  expect(dataOf(await prune('--keep', '0'))).toMatchObject({ sessions: ['e', 'd', 'c', 'b', 'a'] })
  expect(await ids(world)).toHaveLength(6)
  expect(errorOf(await prune())?.code).toBe('ARG_ERROR')
  expect(dataOf(await prune(...keep, ...age, '--yes'))).toMatchObject({ sessions: ['a'], dry_run: false })
  expect(await ids(world)).toEqual(['b', 'broken', 'c', 'd', 'e'])
  expect(readdirSync(join(world.home, 'trash'))).toEqual(['a'])
})

test.each([
  [['rm'], 'ID is missing'],
  [['prune', '--state', 'closed'], 'say what stays'],
  [['prune', '--keep', '1', '--state', 'active'], '--state'],
])('%j is refused, and changes nothing', async (args, message) => {
  await using world = new SessionWorld()
  await world.make('a', 1)
  const [command = '', ...more] = args
  const result = await world.run(command, ...more)
  expect([result.code, errorOf(result)?.code]).toEqual([2, 'ARG_ERROR'])
  expect(errorOf(result)?.message).toContain(message)
  expect(await ids(world)).toEqual(['a'])
})
