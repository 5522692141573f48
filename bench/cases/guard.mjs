import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { environment } from '../processes.mjs'

/** The promise: orphaned children and their scratch are gone within this time. */
const promisedMs = 2000

/** Nanoseconds from the kill of stint until its child, its grandchild and its scratch are gone. */
async function gone({ place, stint }, signal, deaf) {
  const member = `${deaf ? "trap '' TERM;" : ''} echo $$; while :; do sleep 0.05; done`
  const script = `(${member.replace('$$', "$(exec sh -c 'echo $PPID')")}) & ${member}`
  place.renew()
  const run = spawn(process.execPath, [stint.bin, 'run', '--grace', '400ms', '--', 'sh', '-c', script], {
    env: environment(place),
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: true,
  })
  let said = ''
  run.stdout.on('data', (text) => (said += text))
  while (said.split('\n').length < 3) await once(run.stdout, 'data')
  const pids = said.trim().split('\n')
  const root = join(place.tmp, `stint-${process.geteuid()}`)
  assert.equal(scratches(root).length, 1)
  const start = process.hrtime.bigint()
  run.kill(signal)
  while (pids.some(isRunning) || scratches(root).length > 0) await sleep(2)
  return Number(process.hrtime.bigint() - start)
}

const scratches = (root) => readdirSync(root).filter((name) => name.startsWith('req_'))

/** A zombie has ended: its new parent decides when to reap it. */
function isRunning(pid) {
  try {
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')
  } catch {
    return false
  }
}

const contender = (name, signal, deaf, floor = false) => ({
  name,
  floor,
  async check(state) {
    const ms = (await gone(state, signal, deaf)) / 1e6
    assert(ms < promisedMs, `${name}: ${Math.round(ms)} ms, not within ${promisedMs}`)
  },
  run: (state) => gone(state, signal, deaf),
})

export default {
  name: 'guard',
  about: `from the kill of stint to the end of its children and its scratch; at most ${promisedMs} ms each`,
  unit: 'ms',
  rounds: 10,
  subject: 'SIGKILL, children ignore SIGTERM',
  targets: [],
  contenders: [
    contender('SIGKILL, children ignore SIGTERM', 'SIGKILL', true),
    contender('SIGKILL', 'SIGKILL', false),
    contender('SIGTERM, children ignore it', 'SIGTERM', true),
    contender('SIGTERM', 'SIGTERM', false, true),
  ],
}
