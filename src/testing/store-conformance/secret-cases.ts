import { deepEqual, equal, ok } from 'node:assert/strict'
import { ulid } from '../../base/text/id.ts'
import { collect, type StoreCase } from '../conformance-case.ts'

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

/** Secrets. */
export const secretCases: StoreCase[] = [
  [
    'a resolved secret reaches the program, and is written as its name',
    async (store) => {
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
  ],
  [
    'the references in a manifest are resolved again by a resume',
    async (store, place) => {
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
  ],
  [
    'a visitor keeps its secrets out, whether it writes directly or through the spool',
    async (store, place) => {
      const other = await place.open()
      const ref = { kind: 'env', name: 'VISITOR_KEY' } as const
      const value = 'visitor-secret-1234567890'
      const session = await store.create()
      const visit = (): Promise<void> =>
        other.visit(session.id, (each) => each.append({ type: 'v', data: value }), {
          secrets: [{ ref, value }],
        })
      await visit()
      await session.close()
      await visit()
      const read = await store.inspect(session.id)
      deepEqual(
        (await collect(read.events())).map(({ data }) => data),
        ['<secret:env:VISITOR_KEY>', '<secret:env:VISITOR_KEY>'],
      )
    },
  ],
]
