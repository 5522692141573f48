import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { run, settle } from '../processes.mjs'

const stdout = ['ignore', 'pipe', 'inherit']

const contender = (name, command, check, floor = false) => ({
  name,
  floor,
  check: (state) => check(run(command(state), state.place, stdout, { env: state.env }).stdout),
  async run(state) {
    await settle()
    const { start, end } = run(command(state), state.place, stdout, { env: state.env })
    return Number(end - start)
  },
})

const stint = (words, check) =>
  contender(`stint ${words.join(' ')}`, ({ stint }) => [process.execPath, stint.bin, ...words], check)
const node = contender(
  'node -e 0',
  () => [process.execPath, '-e', '0'],
  (printed) => assert.equal(printed, ''),
  true,
)

/** A user without agents, with one held lease. */
function setup({ place, stint }) {
  const [home, user] = ['start-home', 'start-user'].map((name) => join(place.base, name))
  mkdirSync(user, { recursive: true })
  const state = { place, stint, env: { STINT_HOME: home, HOME: user } }
  const hold = ['lock', 'acquire', '--session', 'mine', '--resource', 'start', '--ttl', '1h']
  run([process.execPath, stint.bin, ...hold], place, stdout, { env: state.env })
  // The first run saves compiled code for the later ones.
  run([process.execPath, stint.bin, 'run', '--', 'true'], place, stdout, { env: state.env })
  return state
}

const bench = { unit: 'ms', rounds: 60, warmUp: 3, setup }

export default [
  {
    ...bench,
    name: 'start-help',
    about: 'wall time of `stint --help`',
    subject: 'stint --help',
    targets: [{ against: 'node -e 0', atMost: 1.3 }],
    contenders: [stint(['--help'], (printed) => assert.match(printed, /^Commands:$/m)), node],
  },
  {
    ...bench,
    name: 'start-status',
    about: 'wall time of `stint status`, with one lease',
    subject: 'stint status',
    targets: [{ against: 'node -e 0', atMost: 1.4 }],
    contenders: [stint(['status'], (printed) => assert.match(printed, /^ +mine +working /m)), node],
  },
]
