import { deepEqual, equal, ok } from 'node:assert/strict'
import { ulid } from '../../../src/base/text/id.ts'
import type { Session } from '../../../src/session/index.ts'
import {
  collect,
  fieldsOf,
  rejects,
  type StoreCases,
  valuesOf,
} from '../../../src/testing/conformance-case.ts'

/** Sets an environment variable to a new secret while `use` runs. */
async function withSecret(use: (name: string, value: string) => Promise<void>): Promise<void> {
  const name = `STINT_TEST_${ulid()}`
  const value = `s3cret/${ulid()}+ä"\\`
  process.env[name] = value
  try {
    await use(name, value)
  } finally {
    delete process.env[name]
  }
}

/** Looks like a token of GitHub, which no session has registered. In parts, for scanners of secrets. */
const token = `gh${'p_'}Ab3dEf9hIjKlMn0pQrStUv1xYzAb3dEf9hIj`
const maskedToken = '<masked:github-token>'

/** Secrets. */
export const secretCases: StoreCases = {
  async 'a resolved secret reaches the program, and is written as its name'(store) {
    await withSecret(async (name, value) => {
      const session = await store.create({ title: 'T' })
      equal(session.secrets.resolve({ kind: 'env', name }), value)
      const shown = `<secret:env:${name}>`
      await session.append({ type: 'note', data: { [`key ${value}`]: [`before ${value} after`] } })
      await session.slot('s', { version: '1', initial: '' }).set(value)
      await session.annotate({ title: value })
      await session.act({ action: 'shell', subject: `curl -H ${value}`, key: value }, () => value)
      await session.close()
      const read = await store.inspect(session.id)
      deepEqual((await collect(read.events()))[0]?.data, { [`key ${shown}`]: [`before ${shown} after`] })
      equal((await read.slots()).s?.value, shown)
      equal(read.summary.title, shown)
      const [intent, outcome] = await collect(read.audit())
      deepEqual([intent?.subject, intent?.key, outcome?.result], [`curl -H ${shown}`, shown, shown])
    })
  },
  async 'the references in a manifest are resolved again by a resume'(store, place) {
    await withSecret(async (name, value) => {
      const session = await store.create({ secrets: [{ kind: 'env', name }], title: value })
      await session.close()
      await using again = await (await place.open()).resume(session.id)
      await again.append({ type: value })
      equal((await again.tail(1))[0]?.type, `<secret:env:${name}>`)
      await using fork = await again.fork()
      await fork.append({ type: 'note', data: value })
      equal((await fork.tail(1))[0]?.data, `<secret:env:${name}>`)
      ok(!JSON.stringify(fork.manifest).includes(value))
    })
  },
  async 'an id that contains a secret is refused before anything is written'(store) {
    await withSecret(async (name, value) => {
      const secrets = [{ kind: 'env' as const, name }]
      for (const form of [Buffer.from(value).toString('hex'), Buffer.from(value).toString('base64url')]) {
        const id = `x-${form}`
        await rejects(
          'ARG_ERROR',
          store.create({ id, secrets }),
          store.resumeOrCreate(id, { secrets }),
          store.visit(id, (visit) => visit.append({ type: 'note' }), { create: { secrets } }),
        )
        deepEqual(await store.list(), [])
        await using session = await store.create({ secrets })
        await rejects('ARG_ERROR', session.fork({ id }), store.fork(session.id, { id }))
        deepEqual(await valuesOf(store.list(), 'id'), [session.id])
        await session.close()
        await store.remove(session.id)
      }
    })
  },
  async 'a fork does not copy a title that contains a secret which the session has resolved since'(store) {
    await withSecret(async (name, value) => {
      await using session = await store.create({ title: value, tool: value, labels: { of: value } })
      session.secrets.resolve({ kind: 'env', name })
      await using fork = await session.fork()
      const shown = `<secret:env:${name}>`
      const { title, tool, labels } = (await store.inspect(fork.id)).summary
      deepEqual([title, tool, labels], [shown, shown, { of: shown }])
    })
  },
  async 'what a program stores comes back as it was, also if it looks like a token'(store, place) {
    const session = await store.create({ title: token })
    const stored = { [token]: `before ${token} after`, list: [token] }
    await session.append({ type: token, data: stored })
    await session.slot('s', { version: '1', initial: {} }).set(stored)
    await session.act({ action: 'shell', subject: token, key: token }, () => stored)
    await session.turn(token)
    await session.close()
    const other = await place.open()
    await other.visit(session.id, (visit) => visit.append({ type: 'visit', data: stored }))
    await using again = await other.resume(session.id, { purpose: token })
    await using fork = await again.fork()
    await fork.append({ type: 'note', data: stored })
    const expected = [token, 'visit', 'note'].map((type) => [type, stored])
    deepEqual(await fieldsOf(fork.events(), 'type', 'data'), expected)
    for (const each of [again, fork]) {
      deepEqual(each.slot('s', { version: '1', initial: {} }).value, stored)
      deepEqual(await each.act({ action: 'shell', subject: token, key: token }, () => ({})), stored)
    }
    const read = await other.inspect(session.id)
    equal(read.summary.title, token)
    const records = [...(await collect(read.events({ all: true }))), ...(await collect(read.audit()))]
    ok(records.every((record) => !('masked' in record)))
  },
  async 'a session that masks tokens goes on doing so: resumed, forked, visited'(store, place) {
    const session = await store.create({ mask: 'tokens', title: token })
    await session.append({ type: 'note', data: token })
    await session.close()
    const other = await place.open()
    const visit = (): Promise<unknown> => other.visit(session.id, (each) => each.append({ type: token }))
    await visit()
    const again = await other.resume(session.id)
    await again.append({ type: 'note', data: [token] })
    await again.close()
    await visit()
    await using fork = await other.fork(session.id)
    await fork.append({ type: 'note', data: { [token]: 1 } })
    deepEqual(await fieldsOf(fork.events(), 'type', 'data', 'masked'), [
      ['note', maskedToken, true],
      [maskedToken, null, true],
      ['note', [maskedToken], true],
      [maskedToken, null, true],
      ['note', { [maskedToken]: 1 }, true],
    ])
    equal((await other.inspect(session.id)).summary.title, maskedToken)
    await rejects('ARG_ERROR', store.create({ mask: 'none' as never }))
  },
  async 'a record says whether something in it was replaced, before it came to the session or there'(store) {
    await withSecret(async (name, value) => {
      await using session = await store.create({ secrets: [{ kind: 'env', name }] })
      await session.append({ type: 'plain', data: 'nothing' })
      await session.append({ type: 'secret', data: value })
      await session.append({ type: 'before', data: '<masked>', masked: true })
      await session.slot('s', { version: '1', initial: '' }).set(value)
      await session.turn(value)
      await session.audit({ action: 'plain' })
      await session.audit({ action: 'secret', detail: [value] })
      const read = await store.inspect(session.id)
      deepEqual(await valuesOf(read.events({ all: true }), 'masked'), [undefined, true, true, true, true])
      deepEqual(await valuesOf(read.audit(), 'masked'), [undefined, true])
    })
  },
  async 'a visit may mask tokens in a session that does not'(store) {
    const session = await store.create()
    await session.append({ type: 'own', data: token })
    await session.close()
    await store.visit(session.id, (each) => each.append({ type: 'v', data: token }), { mask: 'tokens' })
    deepEqual(await valuesOf((await store.inspect(session.id)).events(), 'data'), [token, maskedToken])
  },
  async 'an act with a key returns the same value the second time as the first'(store, place) {
    await withSecret(async (name, value) => {
      const results = [{ said: value }, [token, new Date(0)], undefined, 'text', new Map([[1, 2]])]
      const session = await store.create({ secrets: [{ kind: 'env', name }], mask: 'tokens' })
      const actWith = (each: Session, i: number): Promise<unknown> =>
        each.act<unknown>({ action: 'make', key: `k${i}` }, () => results[i])
      const first = await Promise.all(results.map((_, i) => actWith(session, i)))
      deepEqual(await Promise.all(results.map((_, i) => actWith(session, i))), first)
      await session.close()
      await using again = await (await place.open()).resume(session.id)
      deepEqual(await Promise.all(results.map((_, i) => actWith(again, i))), first)
      deepEqual(first[0], { said: `<secret:env:${name}>` })
      equal(first[3], 'text')
    })
  },
  async 'what a caller does to the result of an act does not change what a later call returns'(store) {
    await using session = await store.create()
    for (const _ of [1, 2]) {
      const result = await session.act({ action: 'make', key: 'k' }, () => ['made'])
      deepEqual(result, ['made'])
      result.push('changed')
    }
  },
  async 'the purpose of a visit that creates the session does not show the secrets of the session'(store) {
    await withSecret(async (name, value) => {
      const purpose = `use ${value}`
      const create = { secrets: [{ kind: 'env' as const, name }] }
      const shown = async (): Promise<unknown> => (await store.inspect('made')).summary.holder?.purpose
      for (const _ of ['creates it', 'opens it'])
        await store.visit('made', async () => equal(await shown(), `use <secret:env:${name}>`), {
          create,
          purpose,
        })
    })
  },
  async 'a visitor keeps its secrets out'(store, place) {
    const other = await place.open()
    const ref = { kind: 'env', name: 'VISITOR_KEY' } as const
    const value = 'visitor-secret-1234567890'
    const session = await store.create()
    await session.close()
    await other.visit(session.id, (each) => each.append({ type: 'v', data: value }), {
      secrets: [{ ref, value }],
    })
    const read = await store.inspect(session.id)
    deepEqual(await valuesOf(read.events(), 'data'), ['<secret:env:VISITOR_KEY>'])
  },
}
