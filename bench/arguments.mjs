import { parseArgs } from 'node:util'

const usage = `usage: npm run bench -- [--only PATTERN] [--rounds N] [--quick] [--json]

  --only PATTERN   only benches whose name matches this regular expression
  --rounds N       this many rounds instead of each bench's own number
  --quick          a third of the rounds: a first look, no more
  --json           everything, every sample included, as one JSON document

BENCH_TMP=/dev/shm  where the benches put their files (default: the system's temp directory)
`

/** What the command line asks for; `rounds` says how many of a bench. Ends the process if it cannot be read. */
export function readArguments() {
  try {
    const { values } = parseArgs({
      options: {
        only: { type: 'string', default: '' },
        rounds: { type: 'string' },
        quick: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
    if (values.help) {
      process.stdout.write(usage)
      process.exit(0)
    }
    return { json: values.json, only: new RegExp(values.only), rounds: roundsOf(values) }
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
