import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { costOf, costOfAsync } from '../harness.mjs'
import { lockKinds } from '../lock-kinds.mjs'
import { program } from '../prepare.mjs'
import { run } from '../processes.mjs'

const cycles = 200
const contender = join(import.meta.dirname, '../lock-contender.mjs')

/** Makes a new directory for a lock of one kind. */
function directoryFor({ place }, name) {
  const directory = join(place.renew(), name.replaceAll(/\W+/g, '-'))
  mkdirSync(directory, { recursive: true })
  return directory
}

const kind = (name) => ({
  name,
  async check(state) {
    const take = await lockKinds[name](directoryFor(state, name), state.library, 'one')
    const release = take()
    assert.equal(typeof release, 'function')
    release()
  },
  async run(state) {
    const take = await lockKinds[name](directoryFor(state, name), state.library, 'one')
    return costOf(cycles, () => take()())
  },
})

const setup = async ({ place, stint }) => ({
  place,
  library: stint.library,
  flock: program('flock'),
  ...(await import(stint.library)),
})

const floor = {
  name: 'C flock',
  floor: true,
  check: (state) => assert(flock(state) > 0),
  run: (state) => flock(state),
}
const flock = ({ place, flock }) =>
  Number(run([flock, join(place.renew(), 'file'), '20000'], place, ['ignore', 'pipe', 'inherit']).stdout)

const uncontended = {
  name: 'lease',
  about: `acquire + release without contention, ${cycles} a sample`,
  unit: 'us',
  rounds: 30,
  subject: 'stint',
  targets: [{ against: 'proper-lockfile sync', faster: 1.3 }],
  setup,
  contenders: [
    kind('stint'),
    kind('proper-lockfile sync'),
    {
      name: 'proper-lockfile async',
      async check(state) {
        await asyncCycle(directoryFor(state, 'async'))()
      },
      run: (state) => costOfAsync(50, asyncCycle(directoryFor(state, 'async'))),
    },
    kind('better-sqlite3 BEGIN IMMEDIATE'),
    floor,
  ],
}

function asyncCycle(directory) {
  return async () => {
    const { default: lockfile } = await import('proper-lockfile')
    await (
      await lockfile.lock(directory)
    )()
  }
}

const refresh = {
  name: 'lease-refresh',
  about: `refresh of a held lease, ${cycles} a sample`,
  unit: 'us',
  rounds: 30,
  subject: 'stint',
  targets: [],
  setup,
  contenders: [
    {
      name: 'stint',
      check: (state) => assert(held(state).refreshSync()),
      run(state) {
        const lease = held(state)
        const cost = costOf(cycles, () => lease.refreshSync())
        lease.releaseSync()
        return cost
      },
    },
    floor,
  ],
}

function held(state) {
  const directory = directoryFor(state, 'refresh')
  process.env.STINT_HOME = join(directory, 'home')
  return state.acquireLeaseSync({ workspace: directory, sessionId: 'one' })
}

/** Nanoseconds from the start to the last release, divided by the number of acquisitions. */
async function contend(state, name, processes) {
  const directory = directoryFor(state, name)
  const each = Math.ceil(256 / processes)
  const args = [contender, name, directory, state.library, String(each), '200']
  const all = Array.from({ length: processes }, () =>
    spawn(process.execPath, args, {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, NODE_EXTRA_CA_CERTS: '' },
    }),
  )
  await Promise.all(all.map(({ stdout }) => once(stdout, 'data')))
  const ended = Promise.all(all.map((child) => once(child, 'exit')))
  const start = process.hrtime.bigint()
  for (const { stdin } of all) stdin.end('!')
  for (const [code] of await ended) assert.equal(code, 0)
  return Number(process.hrtime.bigint() - start) / (each * processes)
}

const contended = [2, 8, 32].map((processes) => ({
  name: `lease-${processes}`,
  about: `${processes} processes contend for one lock and hold it for 200 us; time an acquisition`,
  unit: 'us',
  rounds: 8,
  subject: 'stint',
  targets: [{ against: 'proper-lockfile sync', faster: 1.1 }],
  setup,
  contenders: ['stint', 'proper-lockfile sync', 'better-sqlite3 BEGIN IMMEDIATE'].map((name) => ({
    name,
    check: async (state) => assert((await contend(state, name, 2)) > 200_000 / 2),
    run: (state) => contend(state, name, processes),
  })),
}))

export default [uncontended, refresh, ...contended]
