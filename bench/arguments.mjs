import { parseArgs } from 'node:util'

const usage = `usage: npm run bench -- [--only PATTERN] [--rounds N] [--quick] [--wait-idle] [--json]

  --only PATTERN   run only the benches whose name matches this regular expression
  --rounds N       run N rounds of each bench instead of its own number
  --quick          run a third of the rounds, for a first impression
  --wait-idle      before each bench, wait until the machine is idle
  --json           print one JSON document with every sample

BENCH_TMP=/dev/shm  the directory for the files of the benches (default: the system's temp directory)
`

/** Parses the command line; `rounds(bench)` is the number of rounds. Exits if the command line is invalid. */
export function readArguments() {
  try {
    const { values } = parseArgs({
      options: {
        only: { type: 'string', default: '' },
        rounds: { type: 'string' },
        quick: { type: 'boolean', default: false },
        'wait-idle': { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
    if (values.help) {
      process.stdout.write(usage)
      process.exit(0)
    }
    return {
      json: values.json,
      only: new RegExp(values.only),
      rounds: roundsOf(values),
      waitIdle: values['wait-idle'],
    }
  } catch (error) {
    process.stderr.write(`${error.message}\n\n${usage}`)
    process.exit(2)
  }
}

function roundsOf({ rounds, quick }) {
  if (rounds === undefined)
    return (bench) => (quick ? Math.max(3, Math.ceil(bench.rounds / 3)) : bench.rounds)
  if (!/^[1-9]\d*$/.test(rounds)) throw new Error(`--rounds takes a whole number from 1, not ${rounds}`)
  return () => Number(rounds)
}
