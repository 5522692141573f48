import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { costOf, costOfAsync, quantile } from '../harness.mjs'
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
    const release = await take()
    assert.equal(typeof release, 'function')
    await release()
  },
  async run(state) {
    const take = await lockKinds[name](directoryFor(state, name), state.library, 'one')
    return name === 'stint'
      ? await costOfAsync(cycles, async () => await (await take())())
      : costOf(cycles, () => take()())
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
      check: async (state) => assert(await (await held(state)).refresh()),
      async run(state) {
        const lease = await held(state)
        const cost = await costOfAsync(cycles, () => lease.refresh())
        await lease.release()
        return cost
      },
    },
    floor,
  ],
}

function held(state) {
  const directory = directoryFor(state, 'refresh')
  process.env.STINT_HOME = join(directory, 'home')
  return state.acquireLease({ workspace: directory, sessionId: 'one' })
}

const peers = ['stint', 'proper-lockfile sync', 'better-sqlite3 BEGIN IMMEDIATE']

/**
 * Lets processes contend for a lock, each of them `count` times; `meanwhile` is called when all have begun.
 * Returns the nanoseconds from the start to the last release, and what each process reports.
 */
async function contend(state, directory, name, { processes, count, meanwhile }) {
  const args = [contender, name, directory, state.library, String(count), '200']
  const all = Array.from({ length: processes }, () =>
    spawn(process.execPath, args, {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, NODE_EXTRA_CA_CERTS: '' },
    }),
  )
  await Promise.all(all.map(({ stdout }) => once(stdout, 'data')))
  const reports = Promise.all(all.map(async ({ stdout }) => JSON.parse(await text(stdout))))
  const ended = Promise.all(all.map((child) => once(child, 'exit')))
  const start = process.hrtime.bigint()
  for (const { stdin } of all) stdin.end('!')
  await meanwhile?.()
  for (const [code] of await ended) assert.equal(code, 0)
  return { ns: Number(process.hrtime.bigint() - start), reports: await reports }
}

/** 512 acquisitions by some processes. */
const share = (state, name, processes) =>
  contend(state, directoryFor(state, name), name, { processes, count: 512 / processes })

const timeOfOne = async (state, name, processes) => (await share(state, name, processes)).ns / 512

const contended = [2, 8, 32].map((processes) => ({
  name: `lease-${processes}`,
  about: `${processes} processes contend for one lock and hold it for 200 us; time an acquisition`,
  unit: 'us',
  rounds: 8,
  subject: 'stint',
  targets: [{ against: 'proper-lockfile sync', atMost: 1.2 }],
  setup,
  contenders: peers.map((name) => ({
    name,
    check: async (state) => assert((await timeOfOne(state, name, 2)) > 200_000 / 2),
    run: (state) => timeOfOne(state, name, processes),
  })),
}))

/** The longest wait as a multiple of the median: with an unfair lock, most waits are short. */
async function unfairness(state, name, processes) {
  const { reports } = await share(state, name, processes)
  const waits = reports.flatMap((report) => report.waits).sort((a, b) => a - b)
  return waits.at(-1) / quantile(waits, 0.5)
}

const fair = [8, 32].map((processes) => ({
  name: `lease-fair-${processes}`,
  about: `the same with ${processes} processes; the longest wait as a multiple of the median`,
  unit: 'x',
  rounds: 5,
  subject: 'stint',
  targets: [],
  setup,
  contenders: peers.map((name) => ({
    name,
    check: async (state) => assert((await unfairness(state, name, 2)) >= 1),
    run: (state) => unfairness(state, name, processes),
  })),
}))

const holdMs = 5000

/** The CPU time of processes that wait for a lock while this one holds it. */
async function idleCost(state, name, ms) {
  const directory = directoryFor(state, name)
  const release = await (await lockKinds[name](directory, state.library, 'holder'))()
  const meanwhile = async () => {
    await new Promise((resolve) => setTimeout(resolve, ms))
    await release()
  }
  const { reports } = await contend(state, directory, name, { processes: 32, count: 1, meanwhile })
  return reports.reduce((sum, { cpu }) => sum + cpu, 0)
}

const idle = {
  name: 'lease-idle',
  about: `32 processes wait for a lock that is held for ${holdMs / 1000} s; CPU time of all of them`,
  unit: 'ms',
  rounds: 3,
  warmUp: 0,
  subject: 'stint',
  targets: peers.slice(1).map((against) => ({ against, atMost: 0.1 })),
  setup,
  contenders: peers.map((name) => ({
    name,
    check: async (state) => assert((await idleCost(state, name, 100)) > 0),
    run: (state) => idleCost(state, name, holdMs),
  })),
}

export default [uncontended, refresh, ...contended, ...fair, idle]
