import assert from 'node:assert/strict'
import { startPostgres } from '../postgres-server.mjs'

/** Leases acquired and released in a sample, by all callers together. */
const cycles = 256

/** As many connections as callers, up to the size of a reasonable pool. */
const connections = (callers) => Math.min(callers, 16)

async function setup({ stint }, callers) {
  const library = stint.library.replace('index.js', 'postgres.js')
  const server = await startPostgres(library)
  const pool = server.pool({ max: connections(callers) })
  await pool.query(
    'CREATE TABLE lock (key text PRIMARY KEY, epoch bigint NOT NULL, holder text) WITH (fillfactor = 50)',
  )
  await pool.query(`INSERT INTO lock SELECT 'r' || i, 1 FROM generate_series(0, 63) AS i`)
  const { acquireLease } = await import(stint.library)
  const { postgresLeases } = await import(library)
  return { callers, server, pool, acquireLease, store: postgresLeases({ pool }) }
}

/** Every caller has its own resource, so that no caller waits for another. */
async function costOfCycles(state, cycle) {
  const each = Math.ceil(cycles / state.callers)
  const caller = async (number) => {
    for (let done = 0; done < each; done++) await cycle(state, `r${number}`)
  }
  const start = process.hrtime.bigint()
  await Promise.all(Array.from({ length: state.callers }, (_, number) => caller(number)))
  return Number(process.hrtime.bigint() - start) / (each * state.callers)
}

async function ours({ acquireLease, store }, resource) {
  const lease = await acquireLease({ store, resource, sessionId: resource })
  assert(await lease.release())
}

const take = `UPDATE lock SET holder = $2, epoch = epoch + 1 WHERE key = $1 AND holder IS NULL RETURNING epoch`
const give = `UPDATE lock SET holder = NULL, epoch = epoch + 1 WHERE key = $1 AND holder = $2 RETURNING epoch`

/** The floor: a lock without a read, an expiry or the name of its holder. */
async function conditionalUpdate({ pool }, key) {
  for (const sql of [take, give]) assert.equal((await pool.query(sql, [key, 'me'])).rows.length, 1)
}

/** A lock that reads the current state, decides, and writes it if it is unchanged. */
async function readAndUpdate(state, key) {
  const swap = 'UPDATE lock SET holder = $3, epoch = epoch + 1 WHERE key = $1 AND epoch = $2 RETURNING epoch'
  for (const holder of ['me', null]) {
    const { rows } = await state.pool.query('SELECT epoch, holder, now() FROM lock WHERE key = $1', [key])
    assert.equal((await state.pool.query(swap, [key, rows[0].epoch, holder])).rows.length, 1)
  }
}

const contender = (name, cycle, more = {}) => ({
  name,
  check: (state) => cycle(state, 'r0'),
  run: (state) => costOfCycles(state, cycle),
  ...more,
})

const many = (count, what) => `${count} ${what}${count === 1 ? '' : 's'}`
const names = { read: 'SELECT + conditional UPDATE', update: 'conditional UPDATE' }

export default [1, 8, 64].map((callers) => ({
  name: `postgres-lease-${callers}`,
  about: `acquire + release on PostgreSQL, ${many(callers, 'caller')} over ${many(connections(callers), 'connection')}; time a cycle`,
  unit: 'us',
  rounds: 10,
  subject: 'stint',
  targets: [
    { against: names.read, atMost: 1.5 },
    { against: names.update, atMost: 2.5 },
  ],
  setup: (parts) => setup(parts, callers),
  teardown: ({ server }) => server[Symbol.asyncDispose](),
  contenders: [
    contender('stint', ours),
    contender(names.read, readAndUpdate),
    contender(names.update, conditionalUpdate, { floor: true }),
  ],
}))
