import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { sharedLibrary } from '../prepare.mjs'
import { environment, run } from '../processes.mjs'

const sqlite = 'better-sqlite3 WAL FULL, grouped'
const without = 'without a store'
const worker = join(import.meta.dirname, '../loop-worker.mjs')

/** 95 % of the ticks: the time between two may be this many times as long. */
const target = { against: without, atMost: 1.053 }

/** Runs an operation in its own process; returns the nanoseconds between two ticks of a 5 ms timer. */
function measure(state, name, kind, { operation, callers, seconds, syncMs }) {
  const directory = join(state.place.renew(), 'loop')
  mkdirSync(directory)
  const env = { LD_PRELOAD: state.slowSync, SLOW_SYNC_MS: String(syncMs) }
  const args = [worker, kind, operation, String(callers), String(seconds), directory, state.library]
  const { stdout } = run([process.execPath, ...args], state.place, ['ignore', 'pipe', 'inherit'], { env })
  const figures = JSON.parse(stdout)
  state.notes.set(name, [...(state.notes.get(name) ?? []), figures])
  return (figures.elapsedMs / figures.ticks) * 1e6
}

function bench(name, about, kinds, options, withWriter = false) {
  return {
    name: `loop-${name}`,
    about: `${about}: time between two ticks of a 5 ms timer`,
    unit: 'ms',
    rounds: 3,
    warmUp: 0,
    subject: 'stint',
    targets: [target],
    setup({ place, stint }) {
      const writer = withWriter ? writeLargeFiles(place) : undefined
      const slowSync = sharedLibrary('slow-sync')
      return { place, library: stint.library, slowSync, notes: new Map(), writer }
    },
    teardown: ({ writer }) => void writer?.kill('SIGKILL'),
    notes: ({ notes }) =>
      [...notes].map(([kind, all]) => {
        const middle = (figure) => all.map((each) => each[figure]).sort((a, b) => a - b)[all.length >> 1]
        const longest = Math.max(...all.map(({ longestMs }) => longestMs))
        const rate = middle('perSecond').toFixed(middle('perSecond') < 100 ? 1 : 0)
        return `${kind}: longest gap ${longest.toFixed(0)} ms, latency ${middle('latencyMs').toFixed(1)} ms, ${rate}/s`
      }),
    contenders: Object.entries(kinds).map(([label, kind]) => ({
      name: label,
      floor: kind === 'none',
      check(state) {
        const ns = measure(state, label, kind, { ...options, seconds: 0.3 })
        assert(ns > 4e6, `${label}: a timer of 5 ms that ticks every ${ns / 1e6} ms`)
        state.notes.clear()
      },
      run: (state) => measure(state, label, kind, options),
    })),
  }
}

/** Writes and syncs 256 MiB again and again, beside what is measured. */
function writeLargeFiles(place) {
  const file = join(place.base, 'large')
  const script = 'while :; do dd if=/dev/zero of="$0" bs=1M count=256 conv=fsync 2>/dev/null; done'
  return spawn('sh', ['-c', script, file], { env: environment(place), stdio: 'ignore' })
}

const appends = { stint: 'stint', [sqlite]: sqlite, [without]: 'none' }
const alone = { stint: 'stint', [without]: 'none' }

const operations = [
  'create',
  'resume',
  'append',
  'large',
  'audit',
  'slot.set',
  'turn',
  'act',
  'snapshot',
  'fork',
  'visit',
  'search',
]

export default [
  ...[0, 5, 20, 50].flatMap((syncMs) =>
    [1, 8, 64].map((callers) =>
      bench(
        `append-${syncMs}ms-${callers}`,
        `appends by ${callers} callers, a sync takes ${syncMs} ms more`,
        appends,
        {
          operation: 'append',
          callers,
          seconds: 2,
          syncMs,
        },
      ),
    ),
  ),
  ...[1, 8, 64].map((callers) =>
    bench(
      `append-writer-${callers}`,
      `appends by ${callers} callers beside a writer of large files`,
      appends,
      { operation: 'append', callers, seconds: 2, syncMs: 0 },
      true,
    ),
  ),
  // `create` and `resume` include the close.
  ...operations.map((operation) =>
    bench(`50ms-${operation}`, `${operation}, repeated for 5 s, a sync takes 50 ms more`, alone, {
      operation,
      callers: 1,
      seconds: 5,
      syncMs: 50,
    }),
  ),
]
