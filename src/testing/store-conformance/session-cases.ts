import { deepEqual, equal, match, notEqual, ok, rejects as fails } from 'node:assert/strict'
import { collect, fieldsOf, rejects, type StoreCases, until, valuesOf } from '../conformance-case.ts'
import { manifestOf, noContents } from './medium-cases.ts'

const badIds = ['', '.', '..', 'a/b', '../a', '.hidden', 'a\0b', 'x'.repeat(300), '🙂', 'a b', 'ä']

/** Sessions as a whole: created, named, listed, closed, removed. */
export const sessionCases: StoreCases = {
  async 'an annotation changes title, workspace and mode, each a string, and nothing else'(store) {
    const session = await store.create()
    await rejects(
      'ARG_ERROR',
      session.annotate({ title: 5 as never }),
      session.fork({ title: 5 as never }),
      session.fork({ purpose: 5 as never }),
    )
    equal((await store.list()).length, 1)
    await session.annotate({ title: 'new', seq: 1e9, kind: 'close' } as never)
    const { kind, title, seq } = session.manifest.revisions.at(-1) ?? {}
    deepEqual([kind, title, seq], ['annotate', 'new', undefined])
    await session.close()
    await (await store.resume(session.id)).close()
  },
  async 'a NUL in names, labels, events and audit lines comes back, or is left out of a summary'(
    store,
    place,
  ) {
    const text = 'a\0b'
    const session = await store.create({
      tool: text,
      title: text,
      workspace: text,
      labels: { [text]: text },
      purpose: text,
    })
    await session.annotate({ title: `${text}c` })
    await session.append({ type: text, data: { [text]: text } })
    await session.audit({ action: text, subject: text })
    await session.slot('s', { version: text, initial: '' }).set(text)
    await session.close()
    await using again = await (await place.open()).resume(session.id)
    equal(again.slot('s', { version: text, initial: '' }).value, text)
    deepEqual(await fieldsOf(again.tail(1), 'type', 'data'), [[text, { [text]: text }]])
    const [summary] = await store.list()
    deepEqual(summary?.labels, { [text]: text })
    ok([text, 'ab'].includes(summary?.tool ?? ''))
  },
  async 'a session gets a new id, or the one it is given'(store) {
    await using minted = await store.create()
    match(minted.id, /^ses_[0-9A-HJKMNP-TV-Z]{26}$/)
    await using named = await store.create({ id: 'my-agent.1_x' })
    equal(named.id, 'my-agent.1_x')
    await rejects('NAME_TAKEN', store.create({ id: 'my-agent.1_x' }))
    deepEqual((await valuesOf(store.list(), 'id')).toSorted(), ['my-agent.1_x', minted.id].toSorted())
  },
  async 'an invalid id is refused everywhere, and creates nothing'(store) {
    for (const id of badIds)
      await rejects(
        'SESSION_ID_INVALID',
        store.create({ id }),
        store.resume(id),
        store.inspect(id),
        store.remove(id),
        store.unlock(id),
        store.visit(id, () => {}, { create: {} }),
      )
    await using session = await store.create({ id: 'a' })
    for (const id of badIds) await rejects('SESSION_ID_INVALID', session.fork({ id }))
    deepEqual(await valuesOf(store.list(), 'id'), ['a'])
  },
  async 'a session that does not exist is NOT_FOUND everywhere'(store) {
    await rejects(
      'NOT_FOUND',
      store.resume('nothing'),
      store.inspect('nothing'),
      store.remove('nothing'),
      store.fork('nothing'),
      store.unlock('nothing'),
      store.visit('nothing', () => {}),
    )
    deepEqual(await store.list(), [])
  },
  async 'a title or purpose that is not a string is refused before anything is created'(store) {
    const odd = { title: 1 } as unknown as { title: string }
    await rejects('ARG_ERROR', store.create(odd), store.create({ purpose: 1 as never }))
    deepEqual(await store.list(), [])
  },
  async 'the manifest has every revision, oldest first'(store) {
    const session = await store.create({ tool: 'test', title: 'one', workspace: '/w', mode: 'plan' })
    const { id } = session
    await session.annotate({ title: 'two' })
    await session.close()
    const again = await store.resume(id)
    await again.annotate({ workspace: '/v' })
    await again.close()
    const { manifest, summary } = await store.inspect(id)
    deepEqual(
      await fieldsOf(manifest.revisions, 'rev', 'kind'),
      ['create', 'annotate', 'close', 'resume', 'annotate', 'close'].map((kind, i) => [i + 1, kind]),
    )
    equal(manifest.store, store.id)
    deepEqual(
      [summary.tool, summary.title, summary.workspace, summary.state],
      ['test', 'two', '/v', 'closed'],
    )
    for (const { at } of manifest.revisions) ok(!Number.isNaN(Date.parse(at)))
  },
  async 'after many resumes a session has its facts and its origin, and a small manifest'(store) {
    const origin = await store.create({ tool: 'test', title: 'one', workspace: '/w' })
    await origin.append({ type: 'note' })
    const fork = await origin.fork({ title: 'two' })
    const { id } = fork
    await Promise.all([fork.close(), origin.close()])
    for (let n = 0; n < 30; n++) await (await store.resume(id)).close()
    const { manifest, summary } = await store.inspect(id)
    ok(manifest.revisions.length < 50, `${manifest.revisions.length} revisions`)
    deepEqual(manifest.revisions[0]?.from, { session_id: origin.id, seq: 1 })
    equal(manifest.revisions.at(-1)?.seq, 1)
    deepEqual([summary.tool, summary.title, summary.workspace], ['test', 'two', '/w'])
    await using again = await store.resume(id)
    equal(again.lastSeq, 1)
  },
  async 'a list shows the state of each session, newest activity first, and can be filtered'(store) {
    const first = await store.create({ id: 'first', tool: 'a', workspace: '/one', title: 'A' })
    const second = await store.create({ id: 'second', tool: 'b', workspace: '/two' })
    await second.append({ type: 'note' })
    // Activity is compared by the millisecond.
    const before = Date.now()
    await until('the clock has moved on', () => Date.now() > before)
    await first.append({ type: 'note' })
    await first.turn()
    await second.close()
    const listed = await store.list()
    deepEqual(await fieldsOf(listed, 'id', 'state', 'records'), [
      ['first', 'active', 2],
      ['second', 'closed', 1],
    ])
    const [{ holder, bytes = 0, createdAt = 0, lastAt = 0 } = {}] = listed
    equal(holder?.process.pid, process.pid)
    ok(bytes > 0 && createdAt > 0 && lastAt >= createdAt)
    deepEqual(await valuesOf(store.list({ tool: 'b' }), 'id'), ['second'])
    deepEqual(await valuesOf(store.list({ workspace: '/one' }), 'id'), ['first'])
    deepEqual(await store.list({ workspace: '/one', tool: 'b' }), [])
    deepEqual(await valuesOf(store.list({ newest: 1 }), 'id'), ['first'])
    deepEqual(await valuesOf(store.list({ newest: 1, tool: 'b' }), 'id'), ['second'])
    deepEqual(await valuesOf(store.list({ newest: 1, prefix: 'sec' }), 'id'), ['second'])
    deepEqual(await store.list({ newest: 0 }), [])
    await first.close()
  },
  async 'a session is closed once, however often close is called, and accepts nothing afterwards'(store) {
    const session = await store.create()
    const slot = session.slot('s', { version: '1', initial: 0 })
    await session.append({ type: 'note' })
    await Promise.all([session.close(), session.close()])
    await session.close()
    const { manifest } = await store.inspect(session.id)
    await rejects(
      'SESSION_CLOSED',
      session.append({ type: 'late' }),
      session.turn(),
      slot.set(1),
      session.audit({ action: 'late' }),
      session.act({ action: 'late' }, () => {}),
      session.annotate({ title: 'late' }),
      session.snapshot(),
    )
    const after = await store.inspect(session.id)
    deepEqual(after.manifest, manifest)
    deepEqual(manifest.revisions.filter(({ kind }) => kind === 'close').length, 1)
    equal((await collect(after.events())).length, 1)
  },
  async 'a close counts records that were appended and not awaited'(store) {
    for (const durable of [true, false]) {
      const session = await store.create()
      const appended = session.append({ type: 'note' }, { durable })
      await session.close()
      equal((await appended).seq, 1)
      equal((await store.inspect(session.id)).manifest.revisions.at(-1)?.seq, 1)
      await using again = await store.resume(session.id)
      deepEqual([again.report.snapshot, again.report.replayed], [1, 0])
    }
  },
  async 'await using closes a session at the end of its block'(store) {
    let id = ''
    {
      await using session = await store.create()
      id = session.id
      await session.append({ type: 'note' })
      equal((await store.list())[0]?.state, 'active')
    }
    equal((await store.list())[0]?.state, 'closed')
    equal((await store.inspect(id)).manifest.revisions.at(-1)?.seq, 1)
  },
  async 'a session of another kind of store is refused'(store, place) {
    await (await place.medium()).load(manifestOf('foreign', 'another'), noContents)
    await rejects('RESUME_MISMATCH', store.resume('foreign'))
    await rejects(
      'RESUME_MISMATCH',
      store.visit('foreign', () => {}),
    )
    await rejects('RESUME_MISMATCH', store.inspect('foreign'))
    await fails(store.resume('foreign'), { exit: 6 })
  },
  async 'of many processes that resume or create a session at once, one creates it and all get it'(
    store,
    place,
  ) {
    const add = async (n: number): Promise<void> => {
      const other = await place.open()
      await using session = await other.resumeOrCreate('shared', {
        tool: 'agent',
        title: `${n}`,
        wait: '60s',
      })
      await session.append({ type: 'here', data: n })
    }
    await Promise.all(Array.from({ length: 5 }, (_, n) => add(n)))
    const { summary, manifest } = await store.inspect('shared')
    deepEqual([summary.records, summary.tool, manifest.revisions[0]?.kind], [5, 'agent', 'create'])
    equal(manifest.revisions.filter(({ kind }) => kind === 'create').length, 1)
    await using held = await store.resumeOrCreate('shared', { title: 'ignored' })
    ok(held.manifest.revisions.every(({ title }) => title !== 'ignored'))
    const other = await place.open()
    await rejects('SESSION_LOCKED', other.resumeOrCreate('shared'))
    await rejects('SESSION_ID_INVALID', other.resumeOrCreate('a/b'))
    await rejects('ARG_ERROR', other.resumeOrCreate('new', { title: 5 as never }))
    deepEqual(await valuesOf(store.list({ prefix: 'sha' }), 'id'), ['shared'])
    deepEqual(await valuesOf(store.list({ prefix: 'hared' }), 'id'), [])
  },
  async 'a purged session is gone and its id is free; its forks stay whole'(store, place) {
    const big = 'x'.repeat(300_000)
    const session = await store.create({ id: 'a' })
    await session.append({ type: 'note', data: big })
    await using fork = await session.fork({ id: 'b' })
    await rejects('SESSION_LOCKED', (await place.open()).remove('a', { purge: true }))
    await session.close()
    await (await place.open()).remove('a', { purge: true })
    await rejects('NOT_FOUND', store.inspect('a'), store.remove('a', { purge: true }))
    deepEqual(await valuesOf(store.list(), 'id'), ['b'])
    equal((await fork.tail(1))[0]?.data, big)
    ok((await (await store.inspect('b')).health()).ok)
    await (await store.create({ id: 'a' })).close()
  },
  async 'a removed session is gone and its id is free; one in use cannot be removed'(store, place) {
    const other = await place.open()
    const session = await store.create({ id: 'a' })
    await rejects('SESSION_LOCKED', other.remove('a'))
    await session.append({ type: 'note' })
    await session.close()
    await other.remove('a')
    deepEqual(await store.list(), [])
    await rejects('NOT_FOUND', store.resume('a'))
    const again = await store.create({ id: 'a' })
    equal(again.lastSeq, 0)
    notEqual(again.manifest.created_at, undefined)
    await again.close()
  },
  async 'the audit log is a chain of numbered lines that verifies'(store, place) {
    const session = await store.create()
    const first = await session.audit({ action: 'approve', subject: 'rm -rf build', detail: { by: 'me' } })
    const second = await session.audit({ action: 'note' })
    deepEqual([first.seq, second.seq], [1, 2])
    match(first.hash, /^[0-9a-f]{64}$/)
    await session.close()
    const read = await (await place.open()).inspect(session.id)
    const lines = await collect(read.audit())
    deepEqual(await fieldsOf(lines, 'seq', 'type', 'action', 'hash'), [
      [1, 'note', 'approve', first.hash],
      [2, 'note', 'note', second.hash],
    ])
    deepEqual([lines[0]?.subject, lines[0]?.detail], ['rm -rf build', { by: 'me' }])
    const health = await read.health()
    ok(health.ok)
    deepEqual([health.audit.records, health.audit.head], [2, second.hash])
    await rejects(
      'ARG_ERROR',
      session.audit({ action: '' }),
      session.audit({ action: 'x', phase: 'odd' as 'intent' }),
      session.audit(null as unknown as { action: string }),
      session.act(null as unknown as { action: string }, () => 1),
    )
  },
}
