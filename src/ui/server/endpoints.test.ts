import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { HookWorld } from '../../../test/support/hook-host.ts'
import { LockWorld } from '../../../test/support/lock-world.ts'
import { dataOf, SessionWorld } from '../../../test/support/session-world.ts'
import { UiClient } from '../../../test/support/ui-client.ts'
import { killIfThere, until } from '../../../test/support/world.ts'

/** A claim of a session that has no process. */
const acquire = (world: LockWorld, session: string, ...more: string[]) =>
  world.lock(['acquire', '--session', session, '--purpose', `the work of ${session}`, ...more])

test('the first page has a tile for each session, and what it waits for', async () => {
  await using world = new LockWorld()
  await acquire(world, 'holder')
  const waiter = world.startStint(['lock', 'acquire', '--session', 'second', '--wait', '60s'], {
    cwd: world.workspace,
  })
  const ui = await UiClient.start(world)
  const view = await ui.view(({ tiles }) => tiles[0]?.state === 'waiting')
  expect(
    view.tiles.map(({ session_id, state }: { session_id: string; state: string }) => [session_id, state]),
  ).toEqual([
    ['second', 'waiting'],
    ['holder', 'working'],
  ])
  expect(view.tiles[0].waits_for).toMatchObject({
    key: world.key,
    name: world.workspace,
    held_by: ['holder'],
  })
  expect(view.tiles[1]).toMatchObject({
    task: 'the work of holder',
    holds: [{ key: world.key, paths: ['**'] }],
  })
  killIfThere(waiter.pid)
})

test('a workspace has its claims and activities, also when it is free', async () => {
  await using world = new LockWorld()
  await acquire(world, 'first')
  await acquire(world, 'second')
  await world.lock(['release', '--session', 'first'])
  const ui = await UiClient.start(world)
  const { workspaces } = await ui.read('/api/workspaces')
  // The name of a free workspace is known from its history.
  expect(workspaces).toMatchObject([{ key: world.key, name: world.workspace, claims: 0 }])
  const view = await ui.read(`/api/workspace?key=${world.key}`)
  expect(view.name).toBe(world.workspace)
  const history = dataOf(await world.lock(['history']))
  expect(view.activities).toEqual(history.activities)
  expect((await ui.read(`/api/workspace?key=${world.key}&within=0`)).activities).toEqual([])
})

test('what stint claims for itself, such as a store of restore points, is no workspace', async () => {
  await using world = new LockWorld()
  execFileSync('git', ['init', '-q', world.workspace])
  const ran = await world.stint(['run', '--lock', '--', 'true'], { cwd: world.workspace })
  expect(ran.code).toBe(0)
  expect(readdirSync(join(world.home, 'locks')).length).toBeGreaterThan(1)
  const ui = await UiClient.start(world)
  expect((await ui.read('/api/workspaces')).workspaces).toMatchObject([{ key: world.key }])
})

test('an idle session that was only given a prompt has its agent, its place and the time of the prompt', async () => {
  await using world = new HookWorld()
  const before = Date.now()
  await world.hook('claude', 'prompt', { session: 'asked' })
  const after = Date.now()
  const ui = await UiClient.start(world)
  const [tile] = (await ui.read('/api/now')).tiles
  expect(tile).toMatchObject({ session_id: 'asked', state: 'idle', agent: 'Claude Code' })
  expect(tile.workspace).toBe(world.workspace)
  // The file system's clock may be a tick behind.
  expect([tile.last_at >= before - 20, tile.last_at <= after]).toEqual([true, true])
  expect(tile.since).toBe(tile.last_at)
})

test('a session that was closed has no tile, and the claim of its dead process is not shown as held', async () => {
  await using world = new SessionWorld()
  const session = await world.store.create({ id: 'ses_closed' })
  const { id } = session
  const holder = world.start('sleep', ['600'])
  const acquire = ['lock', 'acquire', '--session', id, '--pid', String(holder.pid)]
  expect((await world.stint(acquire)).code).toBe(0)
  const ui = await UiClient.start(world)
  expect((await ui.read('/api/now')).tiles).toMatchObject([{ session_id: id }])
  await session.close()
  killIfThere(holder.pid)
  await holder.finished
  expect((await ui.read('/api/now')).tiles).toEqual([])
  expect((await ui.read('/api/workspaces')).workspaces).toMatchObject([{ claims: 0 }])
})

test('a session with a key is shown and found by its key', async () => {
  await using world = new SessionWorld()
  const key = 'threads/7'
  await using session = await world.store.create({ key })
  const ui = await UiClient.start(world)
  expect((await ui.read('/api/sessions?text=Threads')).sessions).toMatchObject([
    { session_id: session.id, recorded: { key }, transcript: null },
  ])
  expect((await ui.read('/api/now')).tiles).toMatchObject([{ session_id: session.id, task: key }])
})

test('sessions come in pages, and one session with all that its command shows', async () => {
  await using world = new SessionWorld()
  for (const id of ['ses_a', 'ses_b', 'ses_c']) await world.make(id)
  {
    await using fork = await world.store.fork('ses_b', { at: 2, id: 'ses_copy' })
    await fork.slot('todo', { version: '1', initial: ['water the plants'] }).set(['done'])
  }
  const ui = await UiClient.start(world)
  const page = await ui.read('/api/sessions?from=1&limit=2')
  const listed = dataOf(await world.run('list')).sessions
  const recorded = page.sessions.map((row: { recorded: object }) => row.recorded)
  expect([page.total, recorded]).toEqual([4, listed.slice(1, 3)])
  expect((await ui.read('/api/sessions?text=ABOUT%20ses_c')).sessions).toMatchObject([
    { session_id: 'ses_c' },
  ])
  expect((await ui.read('/api/sessions?state=crashed')).total).toBe(0)
  const view = await ui.read('/api/session?id=ses_copy')
  const shown = dataOf(await world.run('show', 'ses_copy'))
  expect(view).toMatchObject({ ...shown, slots: [{ ...shown.slots[0], value: '["done"]' }] })
})

test('the timeline is read in pages backwards', async () => {
  await using world = new SessionWorld()
  const holding = await world.hold('ses_long')
  await holding.write(25)
  const ui = await UiClient.start(world)
  const seqs = async (query: string): Promise<number[]> => {
    const { events, last } = await ui.read(`/api/events?id=ses_long&${query}`)
    expect(last).toBe(25)
    return events.map(({ seq }: { seq: number }) => seq)
  }
  expect(await seqs('limit=3')).toEqual([23, 24, 25])
  expect(await seqs('before=23&limit=3')).toEqual([20, 21, 22])
  expect(await seqs('before=3&limit=3')).toEqual([1, 2])
  expect(await seqs('before=1&limit=3')).toEqual([])
  expect(await seqs('before=900&limit=3')).toEqual([23, 24, 25])
  await holding.write(1)
  expect((await ui.read('/api/events?id=ses_long&limit=1')).events).toMatchObject([
    { seq: 26, type: 'message', data: { n: 26 } },
  ])
  await holding.close()
})

test('a page of events has the acts of its time, each of them once', async () => {
  await using world = new SessionWorld()
  {
    await using session = await world.store.create({ id: 'ses_both' })
    for (const n of [1, 2, 3, 4]) {
      await session.audit({ action: 'approve', subject: `before ${n}` })
      // An act counts for the page of the event before it by its time, in milliseconds.
      await new Promise((resolve) => setTimeout(resolve, 2))
      await session.append({ type: 'message', data: { n } })
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    await session.audit({ action: 'approve', subject: 'at the end' })
  }
  const ui = await UiClient.start(world)
  const subjects = async (query: string): Promise<string[]> =>
    (await ui.read(`/api/events?id=ses_both&${query}`)).acts.map(
      ({ subject }: { subject: string }) => subject,
    )
  expect(await subjects('limit=2')).toEqual(['before 4', 'at the end'])
  expect(await subjects('before=3&limit=2')).toEqual(['before 1', 'before 2', 'before 3'])
  expect(await subjects('before=1')).toEqual(['before 1'])
})

test('acts have their outcome and duration, and one without an outcome stands out', async () => {
  await using world = new SessionWorld()
  {
    await using session = await world.store.create({ id: 'ses_acts' })
    await session.act({ action: 'shell', subject: 'npm test', key: 'k1' }, () => 1)
    await session
      .act({ action: 'shell', subject: 'rm -r build' }, () => Promise.reject(new Error('no')))
      .catch(() => {})
    await session.audit({ action: 'approve', subject: 'deploy' })
    await session.audit({ action: 'shell', subject: 'half done', phase: 'intent', act: 'act-4' })
  }
  const ui = await UiClient.start(world)
  const { acts, acts_left_out } = await ui.read('/api/events?id=ses_acts')
  expect(acts_left_out).toBe(0)
  expect(acts).toMatchObject([
    { type: 'act', subject: 'npm test', outcome: { ok: true, duration_ms: expect.any(Number) } },
    { type: 'act', subject: 'rm -r build', outcome: { ok: false, error: 'no' } },
    { type: 'note', subject: 'deploy', outcome: null },
    { type: 'act', subject: 'half done', outcome: null },
  ])
  expect((await ui.read('/api/session?id=ses_acts')).unsettled).toMatchObject([{ subject: 'half done' }])
})

test('a search finds events in all sessions, and says where', async () => {
  await using world = new SessionWorld()
  {
    await using session = await world.store.create({ id: 'ses_found', title: 'the zebra crossing' })
    await session.append({ type: 'message', data: { text: 'a zebra' } })
    await session.append({ type: 'message', data: { text: 'another zebra' } })
  }
  const ui = await UiClient.start(world)
  expect(await ui.read('/api/search?q=zebra')).toMatchObject({
    hits: [
      { session_id: 'ses_found', seq: 2, type: 'message', title: 'the zebra crossing' },
      { session_id: 'ses_found', seq: 1, excerpt: expect.stringContaining('a zebra') },
    ],
    unreadable: [],
  })
  expect((await ui.read('/api/search?q=zebra&limit=1')).hits).toHaveLength(1)
  expect((await ui.read('/api/sessions?text=zebra')).total).toBe(1)
})

test('each action does what its command does, and is in the same log', async () => {
  await using world = new LockWorld()
  await acquire(world, 'hung')
  const ui = await UiClient.start(world)
  const { fence } = (await ui.read('/api/now')).tiles[0].holds[0]
  const claim = { key: world.key, session_id: 'hung' }
  const older = await ui.bySocket('/api/actions/break', { ...claim, fence: fence - 1 })
  expect([older.status, older.json.error.code]).toEqual([404, 'NOT_FOUND'])
  expect(await ui.read('/api/actions/break', { ...claim, fence, reason: 'since noon' })).toEqual({
    broken: true,
    session_id: 'hung',
    fence,
  })
  // A process that goes on writes its log a moment later.
  const history = async () => dataOf(await world.lock(['history'])).activities
  await until('the break is in the history', async () => (await history()).at(-1).kind === 'break')
  expect((await history()).at(-1)).toMatchObject({ session_id: 'hung', reason: 'since noon' })
})

test('a crashed session is closed, a held one unlocked only from the holder on the screen, and one is removed', async () => {
  await using world = new SessionWorld()
  const holding = await world.hold('ses_dead')
  await holding.write(2)
  killIfThere(holding.pid)
  await holding.finished
  const held = await world.hold('ses_held')
  const ui = await UiClient.start(world)
  /** What the page sends to unlock a session, as it shows that. */
  const shown = async (session_id: string) => {
    const { epoch, holder } = await ui.read(`/api/session?id=${session_id}`)
    return { session_id, epoch, since: holder.since }
  }
  expect(await ui.read('/api/actions/unlock', await shown('ses_dead'))).toMatchObject({ unlocked: true })
  expect((await ui.read('/api/session?id=ses_dead')).state).toBe('closed')
  const seen = await shown('ses_held')
  expect((await ui.bySocket('/api/actions/unlock', { ...seen, epoch: seen.epoch + 1 })).status).toBe(409)
  expect((await ui.bySocket('/api/actions/trash', { session_id: 'ses_held' })).status).toBe(409)
  expect(await ui.read('/api/actions/unlock', seen)).toMatchObject({ unlocked: true })
  expect(await ui.read('/api/actions/trash', { session_id: 'ses_dead' })).toEqual({
    session_id: 'ses_dead',
    trash: expect.stringContaining('trash'),
  })
  killIfThere(held.pid)
})

test('a bad request is answered with its status and what is wrong, and the server goes on', async () => {
  await using world = new LockWorld()
  const ui = await UiClient.start(world)
  const wrong: Record<string, number> = {
    '/api/workspace': 400,
    '/api/workspace?key=../../etc': 400,
    '/api/workspace?key=0123456789ab&within=x': 400,
    '/api/sessions?limit=0': 400,
    '/api/sessions?limit=1001': 400,
    '/api/sessions?from=-1': 400,
    '/api/sessions?state=odd': 400,
    '/api/session': 400,
    '/api/session?id=..%2f..%2fetc': 400,
    '/api/session?id=ses_none': 404,
    '/api/events?id=ses_none': 404,
    '/api/sessions/': 404,
    '/api/search': 400,
    '/api/search?q=x&limit=1001': 400,
    '/api/nothing': 404,
    '/api/actions/break': 404,
  }
  for (const [path, status] of Object.entries(wrong)) {
    const answer = await ui.bySocket(path)
    expect([path, answer.status, answer.json.error.message]).toEqual([
      path,
      status,
      expect.stringMatching(/\w/),
    ])
  }
  for (const body of [[], 7, { reason: 'x'.repeat(70_000) }, { key: 1 }, { key: '0123456789ab' }]) {
    const answer = await ui.bySocket('/api/actions/break', body)
    expect([answer.status, answer.json.error.code]).toEqual([400, 'ARG_ERROR'])
  }
  const withoutHint = await ui.bySocket('/api/search?q=x&limit=many')
  expect(withoutHint.json.error).toEqual({ code: 'ARG_ERROR', message: expect.stringContaining('many') })
  expect((await ui.read('/api/now')).tiles).toEqual([])
})
