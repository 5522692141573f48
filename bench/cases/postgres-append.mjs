import assert from 'node:assert/strict'
import { startPostgres } from '../postgres-server.mjs'

/** As many connections as callers, up to the size of a reasonable pool. */
const connections = (callers) => Math.min(callers, 16)

const data = { role: 'assistant', text: 'x'.repeat(140), n: 1 }

async function setup({ stint }, callers) {
  const library = stint.library.replace('index.js', 'postgres.js')
  const server = await startPostgres(library)
  const pool = server.pool({ max: connections(callers) })
  await pool.query(
    'CREATE TABLE log (session bigint, seq bigint, line text NOT NULL, PRIMARY KEY (session, seq))',
  )
  const { postgresStore } = await import(library)
  const session = await postgresStore({ pool }).create({ tool: 'bench' })
  return { callers, server, pool, session, seq: 0 }
}

/** Nanoseconds a record with concurrent callers of one session, each of which waits for its record. */
async function costOfAppends(state, append) {
  const each = Math.max(8, Math.ceil(256 / state.callers))
  const caller = async () => {
    for (let done = 0; done < each; done++) await append(state)
  }
  const start = process.hrtime.bigint()
  await Promise.all(Array.from({ length: state.callers }, caller))
  return Number(process.hrtime.bigint() - start) / (each * state.callers)
}

const ours = ({ session }) => session.append({ type: 'message', data })

const lineOf = (seq) => JSON.stringify({ seq, at: Date.now(), type: 'message', data })

/** The obvious code: one statement for each record, on any free connection. */
async function insert(state) {
  const seq = ++state.seq
  await state.pool.query('INSERT INTO log VALUES (1, $1, $2)', [seq, lineOf(seq)])
}

/**
 * The floor: one statement for all pending records, without a fence, a checksum or a way to recognize a
 * retry.
 */
function grouped(state) {
  state.pending ??= []
  return new Promise((resolve, reject) => {
    state.pending.push({ resolve, reject })
    state.running ??= flush(state).finally(() => (state.running = undefined))
  })
}

async function flush(state) {
  for (;;) {
    await new Promise((resolve) => setImmediate(resolve))
    const batch = state.pending.splice(0)
    if (batch.length === 0) return
    const seqs = batch.map(() => ++state.seq)
    await state.pool.query('INSERT INTO log SELECT 1, * FROM unnest($1::bigint[], $2::text[])', [
      seqs,
      seqs.map(lineOf),
    ])
    for (const { resolve } of batch) resolve()
  }
}

/** Reads the data of every record from the server. */
async function inSession({ session }) {
  const all = []
  for await (const event of session.events()) all.push(event.data)
  return all
}

async function inLog({ pool }) {
  const { rows } = await pool.query('SELECT line FROM log ORDER BY seq')
  return rows.map(({ line }) => JSON.parse(line).data)
}

const contender = (name, append, records, more = {}) => ({
  name,
  async check(state) {
    const before = await records(state)
    await append(state)
    assert.deepEqual(await records(state), [...before, data])
  },
  run: (state) => costOfAppends(state, append),
  ...more,
})

const names = { insert: 'INSERT with pg', grouped: 'INSERT with pg, grouped' }

/** pgbench would be another floor, but the package with the server does not contain it. */
export default [1, 8, 64].map((callers) => ({
  name: `postgres-append-${callers}`,
  about: `durable append of 200 B on PostgreSQL, ${callers} callers of one session over ${connections(callers)} connections; time a record`,
  unit: 'us',
  rounds: 12,
  subject: 'stint',
  targets: [
    { against: names.insert, atMost: callers === 1 ? 2 : 1 },
    { against: names.grouped, atMost: 2.5 },
  ],
  setup: (parts) => setup(parts, callers),
  async teardown({ session, server }) {
    await session.close()
    await server[Symbol.asyncDispose]()
  },
  contenders: [
    contender('stint', ours, inSession),
    contender(names.insert, insert, inLog),
    contender(names.grouped, grouped, inLog, { floor: true }),
  ],
}))
