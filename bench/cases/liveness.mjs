import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { costOf } from '../harness.mjs'
import { program } from '../prepare.mjs'
import { run } from '../processes.mjs'

const calls = 2000

export default {
  name: 'liveness',
  about: `check whether a process is still the same, ${calls} calls a sample`,
  unit: 'us',
  rounds: 40,
  warmUp: 3,
  subject: 'liveness()',
  targets: [{ against: 'C read of /proc/<pid>/stat', atMost: 1.5 }],
  async setup({ place, stint }) {
    const { identify, liveness } = await import(stint.library)
    const reader = program('read-stat')
    // A process with one thread keeps the kernel's share of the work small. Its stdin is a pipe from this
    // process, so that it ends when this process ends.
    const holder = spawn('cat', { stdio: ['pipe', 'ignore', 'ignore'] })
    await once(holder, 'spawn')
    return { place, liveness, reader, holder, identity: identify(holder.pid) }
  },
  async teardown({ holder }) {
    holder.stdin.end()
    await once(holder, 'exit')
  },
  contenders: [
    {
      name: 'liveness()',
      check({ liveness, identity }) {
        assert.equal(liveness(identity), 'alive')
        assert.equal(liveness({ ...identity, started: identity.started - 1 }), 'dead')
      },
      run: ({ liveness, identity }) => costOf(calls, () => liveness(identity)),
    },
    {
      name: 'C read of /proc/<pid>/stat',
      floor: true,
      check({ place, reader, identity: { pid, started } }) {
        assert(readInC(place, reader, pid, started) > 0)
        assert.throws(() => readInC(place, reader, pid, started - 1), /ended with 1/)
      },
      run: ({ place, reader, identity: { pid, started } }) => readInC(place, reader, pid, started),
    },
    {
      name: 'readFileSync + split',
      check: ({ identity }) =>
        assert(isSame(identity) && !isSame({ ...identity, started: identity.started - 1 })),
      run: ({ identity }) => costOf(calls, () => isSame(identity)),
    },
  ],
}

/** The program measures itself: its start does not count. */
function readInC(place, reader, pid, started) {
  const { stdout } = run([reader, pid, started, calls].map(String), place, ['ignore', 'pipe', 'inherit'])
  return Number(stdout)
}

function isSame({ pid, started }) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]) === started
}
