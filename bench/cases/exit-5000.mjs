import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
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

const contender = (name, files, command) => ({
  name,
  async check(state) {
    const { made } = await timeExit(command, files, state)
    assert.equal(made, files)
  },
  run: async (state) => (await timeExit(command, files, state)).cost,
})

/**
 * From the child's last act to the end of the whole command. The child (c/make-files.c) notes the time of the
 * monotonic clock, which process.hrtime reads too, when its files are made: making them does not count.
 */
async function timeExit(command, files, { place, stint, maker, note }) {
  place.renew()
  await settle()
  const { start, end } = run(command({ stint }, [maker, String(files), note]), place)
  await untilEmpty(place.tmp)
  const [at, made] = readFileSync(note, 'utf8').trim().split(' ')
  const lastAct = BigInt(at)
  assert(start < lastAct && lastAct < end, 'the child and we do not share a clock')
  return { cost: Number(end - lastAct), made: Number(made) }
}

/** The guard deletes when the command has ended: not part of the time, but it must happen, and not run on. */
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
  about: 'from the last act of the child to the end of the command',
  unit: 'ms',
  rounds: 20,
  subject: 'stint run, 5,000 files',
  targets: [{ against: 'stint run, no files', atMost: 1.5 }],
  setup: ({ place, stint }) => ({
    place,
    stint,
    maker: program('make-files'),
    note: join(place.base, 'last-act'),
  }),
  contenders: [
    contender('stint run, 5,000 files', many, stintRun()),
    { ...contender('stint run, no files', 0, stintRun()), floor: true },
    contender('stint run --no-guard, 5,000 files', many, stintRun('--no-guard')),
    contender('node + rmSync, 5,000 files', many, (_, words) => [
      process.execPath,
      '-e',
      spawnThenRemove,
      ...words,
    ]),
  ],
}
