import { exitCodeOf } from '../command/children.ts'
import type { OptionTable } from '../command/option.ts'
import { defineCommand } from '../command/spec.ts'
import { StintError } from '../primitives/stint-error.ts'
import { keepPolicies } from '../scratch/keep.ts'

const options = {
  session: { type: 'string', value: 'ID', help: 'the session this run belongs to' },
  keep: { type: 'string', choices: keepPolicies, help: 'what happens to the scratch at the end (never)' },
  'no-guard': { type: 'boolean', help: 'start no guard: if stint is killed, a later sweep cleans up' },
} as const satisfies OptionTable

export const run = defineCommand({
  name: 'run',
  summary:
    'Runs any program in a scratch of its own. Its input, output, terminal and exit code pass through.',
  options,
  positionals: '-- COMMAND [ARGUMENT…]',
  stopAtPositional: true,
  envelope: 'on-request',
  interrupt: 'child',
  examples: [
    ['stint run -- npm test', 'TMPDIR is private to this run and gone after it'],
    ['stint run --timeout 10m --json -- make', 'one JSON envelope on stdout, make talks on stderr'],
    ['stint run --keep on-failure -- ./import.sh', 'look at the scratch of a run that failed'],
  ],
  settings: ({ options, positionals }) => {
    if (positionals.length === 0) {
      throw new StintError('ARG_ERROR', 'no command to run', {
        hint: 'Write it after --, as in: stint run -- npm test',
      })
    }
    return {
      sessionId: options.session,
      keep: options.keep,
      guard: !options['no-guard'],
      program: positionals[0],
    }
  },
  async run(context, { positionals }) {
    const [program = '', ...args] = positionals
    const child = await context.spawn(program, args, { stdio: 'inherit' })
    const exit = await child.exited
    const code = exitCodeOf(exit)
    if (code === 0) return { exit_code: 0, command: positionals }
    const how = exit.signal === null ? `exited with ${code}` : `was ended by ${exit.signal}`
    throw new StintError('CHILD_FAILED', `${program} ${how}`, {
      exit: code,
      facts: { exit_code: code, signal: exit.signal },
    })
  },
})
