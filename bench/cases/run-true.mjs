import assert from 'node:assert/strict'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { run, settle } from '../processes.mjs'

const spawnArguments =
  "require('node:child_process').spawn(process.argv[1], process.argv.slice(2), {stdio: 'inherit'})"

/** `command(state, words)` is a command line that runs `words`. */
const contender = (name, command, checkMore = () => {}) => ({
  name,
  check(state) {
    const { place, note } = state
    rmSync(note, { force: true })
    run(command(state, ['sh', '-c', 'test -d "$TMPDIR" && echo "$TMPDIR" > "$1"', 'sh', note]), place)
    checkMore(readFileSync(note, 'utf8').trim(), place)
  },
  async run(state) {
    await settle()
    const { start, end } = run(command(state, ['true']), state.place)
    return Number(end - start)
  },
})

function assertOwnScratch(path, { tmp }) {
  assert(path.startsWith(`${tmp}/`), `the child's TMPDIR was ${path}`)
  assert(!existsSync(path), `${path} is still there`)
}

export default {
  name: 'run-true',
  about: 'wall time of a whole process that runs `true`',
  unit: 'ms',
  rounds: 60,
  warmUp: 3,
  subject: 'stint run',
  targets: [{ against: 'node + spawn', atMost: 1.3 }],
  setup: ({ place, stint }) => ({ place, stint, note: join(place.base, 'note') }),
  contenders: [
    contender(
      'stint run',
      ({ stint }, words) => [process.execPath, stint.bin, 'run', '--', ...words],
      assertOwnScratch,
    ),
    {
      ...contender('node + spawn', (_, words) => [process.execPath, '-e', spawnArguments, ...words]),
      floor: true,
    },
    contender(
      'stint run --no-guard',
      ({ stint }, words) => [process.execPath, stint.bin, 'run', '--no-guard', '--', ...words],
      assertOwnScratch,
    ),
    {
      name: 'node -e 0',
      check: ({ place }) => assert.equal(nodePrints('1 + 1', place), '2\n'),
      async run({ place }) {
        await settle()
        const { start, end } = run([process.execPath, '-e', '0'], place)
        return Number(end - start)
      },
    },
  ],
}

const nodePrints = (expression, place) =>
  run([process.execPath, '-p', expression], place, ['ignore', 'pipe', 'inherit']).stdout
