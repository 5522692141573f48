import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { program } from '../prepare.mjs'
import { run, settle } from '../processes.mjs'

const many = 5000
const patienceMs = 120_000

const spawnThenRemove = `
const { mkdtempSync, rmSync } = require('node:fs')
const { tmpdir } = require('node:os')
const { spawn } = require('node:child_process')
const path = mkdtempSync(tmpdir() + '/bench-')
process.env.TMPDIR = path
spawn(process.argv[1], process.argv.slice(2), { stdio: 'inherit' })
process.on('exit', () => rmSync(path, { recursive: true, force: true }))
`

const stintRun =
  (...flags) =>
  ({ stint }, words) => [process.execPath, stint.bin, 'run', ...flags, '--', ...words]

const spawnAndRemove = (_, words) => [process.execPath, '-e', spawnThenRemove, ...words]

/**
 * `command(state, words)` is a command line that runs `words`, the child, which creates its files in TMPDIR.
 */
const contender = (name, command, { files = many, elsewhere = false } = {}) => ({
  name,
  async check(state) {
    const { made } = await timeExit(command, files, elsewhere, state)
    assert.equal(made, files)
  },
  run: async (state) => (await timeExit(command, files, elsewhere, state)).cost,
})

/**
 * Measures from the end of the child's work to the end of the whole command. The child (c/make-files.c)
 * writes down the monotonic time, which process.hrtime reads too, after its last file: creating the files
 * does not count.
 */
async function timeExit(command, files, elsewhere, state) {
  const { place, maker, note, outside } = state
  place.renew()
  if (elsewhere) mkdirSync(outside)
  await settle()
  const words = [maker, String(files), note, ...(elsewhere ? [outside] : [])]
  const { start, end } = run(command(state, words), place)
  await untilEmpty(place.tmp)
  if (elsewhere) rmSync(outside, { recursive: true })
  const [at, made] = readFileSync(note, 'utf8').trim().split(' ')
  const lastAct = BigInt(at)
  assert(start < lastAct && lastAct < end, 'the child has another clock than this process')
  return { cost: Number(end - lastAct), made: Number(made) }
}

/** Waits for the guard, which deletes after the command has ended: outside the time, but it must finish. */
async function untilEmpty(tmp) {
  const end = Date.now() + patienceMs
  while (leftovers(tmp).length > 0) {
    if (Date.now() > end) throw new Error(`still there: ${leftovers(tmp).join(', ')}`)
    await sleep(10)
  }
}

function leftovers(tmp) {
  const scratches = readdirSync(tmp).filter((name) => name.startsWith('stint-'))
  const places = [tmp, ...scratches.flatMap((name) => [join(tmp, name), join(tmp, name, 'trash')])]
  return places.flatMap((path) => readdirSync(path).filter((name) => /^(\.new-|req_|bench-)/.test(name)))
}

export default {
  name: 'exit-5000',
  about: 'from the 5,000th file that the child makes to the end of the command',
  unit: 'ms',
  rounds: 12,
  subject: 'stint run',
  targets: [{ against: 'stint run, files elsewhere', atMost: 1.5 }],
  setup: ({ place, stint }) => ({
    place,
    stint,
    maker: program('make-files'),
    note: join(place.base, 'last-act'),
    outside: join(place.base, 'outside'),
  }),
  contenders: [
    contender('stint run', stintRun()),
    // The child does the same work outside the scratch: after a child that ends at once, everything would
    // still be in the cache of a busy core.
    { ...contender('stint run, files elsewhere', stintRun(), { elsewhere: true }), floor: true },
    contender('stint run, no files', stintRun(), { files: 0 }),
    contender('stint run --no-guard', stintRun('--no-guard')),
    contender('node + rmSync', spawnAndRemove),
  ],
}
