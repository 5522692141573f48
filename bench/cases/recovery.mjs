import assert from 'node:assert/strict'
import { mkdirSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { prose } from '../prose.mjs'

const require = createRequire(import.meta.url)

const dataOf = (n) => ({ role: 'assistant', text: prose(140), n })

/** Writes the same records to a session and to a database. */
async function fill({ place, stint }, records) {
  const home = join(place.base, `recovery-${records}`)
  mkdirSync(home)
  const { filesystemStore } = await import(stint.library)
  const store = filesystemStore({ home })
  const session = await store.create({ tool: 'bench' })
  const slot = session.slot('last', { version: '1', initial: 0 })
  for (let n = 0; n < records; n += 1000) {
    const batch = Array.from({ length: 1000 }, (_, i) =>
      session.append({ type: 'message', data: dataOf(n + i) }),
    )
    await Promise.all(batch)
  }
  await slot.set(records)
  await session.close()

  const Database = require('better-sqlite3')
  const database = new Database(join(home, 'journal.db'))
  database.pragma('journal_mode = WAL')
  database.exec('CREATE TABLE journal (seq INTEGER PRIMARY KEY, at INTEGER, type TEXT, data TEXT)')
  const insert = database.prepare('INSERT INTO journal (at, type, data) VALUES (?, ?, ?)')
  database.transaction(() => {
    for (let n = 0; n < records; n++) insert.run(Date.now(), 'message', JSON.stringify(dataOf(n)))
  })()
  const select = database.prepare('SELECT seq, at, type, data FROM journal ORDER BY seq')
  return { store, id: session.id, home, database, select, records }
}

async function timed(work) {
  const started = process.hrtime.bigint()
  await work()
  return Number(process.hrtime.bigint() - started)
}

/** Resumes the session and closes it; the close does not count. */
async function resume({ store, id, records }) {
  let session
  const cost = await timed(async () => (session = await store.resume(id)))
  assert.equal(session.slot('last', { version: '1', initial: 0 }).value, records)
  await session.close()
  return cost
}

const dropSnapshots = ({ home, id }) => rmSync(join(home, 'sessions', id, 'snapshots'), { recursive: true })

async function readAll({ store, id, records }) {
  let seen = 0
  for await (const { data } of (await store.inspect(id)).events()) seen += data.n >= 0 ? 1 : 0
  assert.equal(seen, records)
}

async function verify({ store, id }) {
  const health = await (await store.inspect(id)).health()
  assert.equal(health.ok, true)
}

function select({ select: statement, records }) {
  let seen = 0
  for (const { data } of statement.iterate()) seen += JSON.parse(data).n >= 0 ? 1 : 0
  assert.equal(seen, records)
}

const sqlite = {
  name: 'better-sqlite3 SELECT + JSON.parse',
  check: select,
  run: (state) => timed(() => select(state)),
}

function bench(kind, records, rounds, contender, targets) {
  const name = `${kind}-${records === 1_000_000 ? '1M' : '100k'}`
  return {
    name,
    about: `${contender.about}, ${records.toLocaleString('en')} records of 200 B`,
    unit: 'ms',
    rounds,
    subject: 'stint',
    targets: targets.map((target) => ({ against: sqlite.name, ...target })),
    setup: (parts) => fill(parts, records),
    teardown: ({ database, home }) => {
      database.close()
      rmSync(home, { recursive: true })
    },
    contenders: [{ name: 'stint', check: contender.run, run: contender.run }, sqlite],
  }
}

const kinds = {
  recover: {
    about: 'resume without a snapshot: check every line and rebuild the state',
    async run(state) {
      dropSnapshots(state)
      return await resume(state)
    },
  },
  'recover-snapshot': { about: 'resume with a snapshot at the end of the log', run: resume },
  verify: { about: 'check every line of both logs', run: (state) => timed(() => verify(state)) },
  replay: { about: 'check and parse every event', run: (state) => timed(() => readAll(state)) },
}

export default [100_000, 1_000_000].flatMap((records) => {
  const rounds = records === 1_000_000 ? 6 : 12
  return [
    bench('recover', records, rounds, kinds.recover, [{ faster: 1 }]),
    bench('recover-snapshot', records, rounds, kinds['recover-snapshot'], []),
    bench('verify', records, rounds, kinds.verify, [{ faster: 4 }]),
    bench('replay', records, rounds, kinds.replay, []),
  ]
})
