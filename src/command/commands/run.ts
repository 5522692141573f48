import { exitCodeOf } from '../children.ts'
import type { ChildExit } from '../context.ts'
import { defineCommand } from '../define-command.ts'
import { newSessionId } from '../../base/text/id.ts'
import { notRetryable, StintError } from '../../base/errors/stint-error.ts'
import { keepPolicies } from '../../scratch/index.ts'
import { assertTtl } from '../../lease/commands/lock-options.ts'

/** Options that only say how to hold a lease. */
const lockOptions = ['path', 'ttl', 'wait', 'purpose', 'resource', 'on-lost', 'no-undo'] as const

const isGiven = (value: unknown): boolean =>
  value !== undefined && value !== false && !(Array.isArray(value) && value.length === 0)

export const run = defineCommand({
  name: 'run',
  summary: 'Runs any program in its own scratch. Its input, output, terminal and exit code pass through.',
  options: {
    session: { type: 'string', value: 'ID', help: 'the session this run belongs to' },
    keep: { type: 'string', choices: keepPolicies, help: 'whether to keep the scratch at the end (never)' },
    'no-guard': { type: 'boolean', help: 'start no guard: if stint is killed, a later sweep cleans up' },
    lock: { type: 'boolean', help: 'hold a lease on the workspace while the program runs' },
    path: {
      type: 'strings',
      value: 'P',
      help: 'with --lock: claim only this file or directory tree; may be repeated',
    },
    ttl: {
      type: 'duration',
      value: 'D',
      help: 'with --lock: how long the lease lasts if stint cannot refresh it (5m)',
    },
    wait: {
      type: 'duration',
      value: 'D',
      help: 'with --lock: how long to wait for another holder (not at all)',
    },
    purpose: {
      type: 'string',
      value: 'TEXT',
      help: 'with --lock: what it is for; shown to sessions that are refused',
    },
    resource: {
      type: 'string',
      value: 'NAME',
      help: 'with --lock: claim the resource NAME instead of the workspace',
    },
    store: {
      type: 'string',
      value: 'URL',
      help: 'with --lock or --record: where to keep it, postgres://… or files (STINT_STORE, files)',
    },
    'on-lost': {
      type: 'string',
      choices: ['kill', 'warn'],
      help: 'with --lock: what to do if the lease is lost (kill)',
    },
    'no-undo': {
      type: 'boolean',
      help: 'with --lock: take no restore points, so that nothing can be undone',
    },
    record: {
      type: 'boolean',
      help: 'record the command line and how it ended in the session (a new one if none is named)',
    },
    'max-bytes': {
      type: 'size',
      value: 'SIZE',
      help: 'end the program when its scratch holds more than this',
    },
    'max-files': {
      type: 'count',
      value: 'N',
      help: 'end the program when its scratch holds more files than this',
    },
  },
  positionals: '-- COMMAND [ARGUMENT…]',
  stopAtPositional: true,
  envelope: 'on-request',
  interrupt: 'child',
  examples: [
    ['stint run -- npm test', 'TMPDIR is private to this run, and removed after it'],
    ['stint run --timeout 10m --json -- make', "one JSON envelope on stdout, make's output on stderr"],
    ['stint run --keep on-failure -- ./import.sh', 'keep the scratch of a failed run, to look at it'],
    ['stint run --max-bytes 2GiB --max-files 10000 -- make', 'a scratch that cannot fill the disk'],
    ['stint run --record --session mine -- ./deploy.sh', 'then: stint audit show mine'],
    ['stint run --lock --wait 1m -- npm run codegen', 'no other session edits the workspace meanwhile'],
    ['stint run --lock --resource deploy:prod -- ./deploy.sh', 'one deploy at a time'],
  ],
  async settings({ options, positionals }) {
    const stray = lockOptions.find((name) => isGiven(options[name]))
    const { ttl } = options
    if (!options.lock && stray !== undefined) throw new StintError('ARG_ERROR', `--${stray} goes with --lock`)
    if (!options.lock && !options.record && options.store !== undefined)
      throw new StintError('ARG_ERROR', '--store goes with --lock or --record')
    assertTtl(ttl)
    if (options.session !== undefined) await assertHasNoSecret(options.session)
    return {
      sessionId:
        options.session ?? (options.record ? process.env.STINT_SESSION_ID || newSessionId() : undefined),
      keep: options.keep,
      guard: options['no-guard'] ? 'off' : 'eager',
      program: positionals[0],
    }
  },
  async run(context, { options, positionals }) {
    const [program, ...args] = positionals
    const lease = options.lock
      ? await (await import('./hold-lease.ts')).holdLease(context, options)
      : undefined
    const { 'max-bytes': maxBytes, 'max-files': maxFiles } = options
    const hasBudget = maxBytes !== undefined || maxFiles !== undefined
    const watch = hasBudget
      ? (await import('./watch-budget.ts')).watchBudget(context, { maxBytes, maxFiles })
      : undefined
    const recording =
      options.record && context.sessionId !== undefined
        ? await (
            await import('./record-run.ts')
          ).recordRun(context, context.sessionId, positionals, options.store)
        : undefined
    const child = await context.spawn(program, args, { stdio: 'inherit' }).catch(async (error: unknown) => {
      await recording?.finish({ error })
      throw recording === undefined ? error : notRetryable(error)
    })
    const end = async (): Promise<ChildExit> => {
      await lease?.join(child.pid)
      const reasonsToStop = [lease?.lost, watch?.exceeded].filter((reason) => reason !== undefined)
      return await Promise.race([child.exited, ...reasonsToStop])
    }
    const exit = await end().catch((reason: unknown) => {
      recording?.stoppedBy(reason)
      // The program has begun to run.
      throw notRetryable(reason)
    })
    await recording?.finish(exit)
    const code = exitCodeOf(exit)
    await watch?.finish(code)
    if (code === 0) return { exit_code: 0, command: positionals }
    const how = exit.signal === null ? `exited with ${code}` : `was ended by ${exit.signal}`
    throw new StintError('CHILD_FAILED', `${program} ${how}`, {
      exit: code,
      facts: { exit_code: code, signal: exit.signal },
    })
  },
})

/** The id is stored as it is, in owner records, claims and sessions. */
async function assertHasNoSecret(id: string): Promise<void> {
  const { registerEnvironmentSecrets } = await import('../../secrets/index.ts')
  if (registerEnvironmentSecrets().gate.text(id) === id) return
  throw new StintError('ARG_ERROR', 'the id of a session contains a secret', {
    hint: 'Choose another id: it is stored as it is, and shown to others.',
  })
}
