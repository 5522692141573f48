import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { appendKinds } from '../append-kinds.mjs'
import { prose } from '../prose.mjs'

const sqlite = 'better-sqlite3 WAL FULL, grouped'
const floor = 'raw write + fdatasync, grouped'

/**
 * Nanoseconds a record with concurrent callers, each of which waits for its record before it writes the next.
 */
async function costOfAppends({ append }, callers, records, data) {
  const each = Math.ceil(records / callers)
  const started = process.hrtime.bigint()
  await Promise.all(
    Array.from({ length: callers }, async () => {
      for (let n = 0; n < each; n++) await append(data)
    }),
  )
  return Number(process.hrtime.bigint() - started) / (each * callers)
}

const dataOf = (bytes) => ({ role: 'assistant', text: prose(bytes - 60), n: 1 })

function bench(callers, bytes, faster) {
  const records = Math.max(200, Math.min(callers * 40, 8000))
  const open = async ({ place, library }, kind) => {
    const directory = join(place.renew(), kind.replaceAll(/\W+/g, '-'))
    mkdirSync(directory, { recursive: true })
    return await appendKinds[kind](directory, library)
  }
  return {
    name: `append-${callers}-${bytes === 200 ? '200B' : '4KB'}`,
    about: `durable append of ${bytes} B, ${callers} concurrent callers, ${records} records a sample`,
    unit: 'us',
    rounds: 12,
    subject: 'stint',
    targets: faster === undefined ? [] : [{ against: sqlite, faster }],
    setup: ({ place, stint }) => ({ place, library: stint.library }),
    contenders: Object.keys(appendKinds).map((kind) => ({
      name: kind,
      floor: kind === floor,
      async check(state) {
        const store = await open(state, kind)
        await store.append({ hello: 1 })
        await store.append({ hello: 2 })
        await store.close()
        assert.deepEqual(await store.read(), [{ hello: 1 }, { hello: 2 }])
      },
      async run(state) {
        const store = await open(state, kind)
        await store.append(dataOf(bytes))
        const cost = await costOfAppends(store, callers, records, dataOf(bytes))
        await store.close()
        return cost
      },
    })),
  }
}

export default [
  bench(1, 200, 1.2),
  bench(8, 200, 1.4),
  bench(64, 200, 1.5),
  bench(512, 200, 1.8),
  bench(1, 4096),
  bench(8, 4096),
  bench(64, 4096),
  bench(512, 4096),
]
