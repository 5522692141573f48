import { StintError } from '../base/errors/stint-error.ts'
import { sweepAtStart } from '../sweep/index.ts'
import type { Reply } from './reply.ts'
import { Children } from './children.ts'
import type { CommandContext } from './context.ts'
import { type Outcome, settle } from './envelope.ts'
import type { Interruptions } from './interruption.ts'
import { armGuard, exportEnvironment, makeScratch, readSettings, reserveStdout } from './prepare.ts'
import type { Invocation } from './runtime-flags.ts'
import type { Command } from './define-command.ts'
import { StopSignal } from './stop-signal.ts'
import { type RunParts, teardown, teardownAtOnce } from './teardown.ts'
import { dieOfInterrupt, hasControllingTerminal, leaveTerminalAsItIs, stopAfter } from './terminal.ts'

/** One run of a command, from its scratch to its exit code. */
export async function execute(
  command: Command,
  invocation: Invocation,
  answer: Reply,
  interruptions: Interruptions,
): Promise<number> {
  const settings = readSettings(command, invocation)
  const terminal = hasControllingTerminal()
  const behindChild = terminal && command.interrupt === 'child'
  const interruption = interruptions.follow({
    timeoutMs: invocation.timeoutMs,
    // Before there is one, while a lease is waited for, they are ours. A child that has died of one has had it.
    childHasInterrupts: behindChild ? () => children.pids.length > 0 : undefined,
    forward: (signal) => children.forward(signal),
    onImpatient: (error) => process.exit(teardownAtOnce(run, { error })),
    onLater: (error) => answer.warn(`CLEANUP_FAILED: ${error.message}`),
  })
  // A handler may call process.exit itself: what is owed is done in the moment that is left. Registered before the
  // scratch's own exit hook, since children go before their scratch.
  process.on('exit', (code) => {
    if (!answer.given) process.exitCode = teardownAtOnce(run, run.outcome ?? exitedEarly(code))
  })
  if (answer.json && command.envelope !== 'on-request') reserveStdout()

  const scratch = makeScratch(command, settings, answer)
  const mark = exportEnvironment(scratch, settings)
  const children = new Children({
    scratchPath: scratch.path,
    mark,
    json: answer.json,
    terminal,
    onStarting: () => (run.guard ??= armGuard(scratch, mark, settings, answer)),
    onStarted: (child) => run.guard?.watch(child),
  })
  const run: RunParts = {
    command,
    settings,
    graceMs: invocation.graceMs,
    answer,
    scratch,
    children,
    guard: settings.guard ? armGuard(scratch, mark, settings, answer) : undefined,
    hooks: [],
    releases: [],
  }

  const stop = new StopSignal()
  const context: CommandContext = {
    requestId: scratch.requestId,
    sessionId: settings.sessionId,
    tmpDir: scratch.path,
    scratch,
    get signal() {
      return stop.signal
    },
    deadline: invocation.timeoutMs === undefined ? undefined : Date.now() + invocation.timeoutMs,
    json: answer.json,
    quiet: answer.quiet,
    spawn: (program, args = [], options = {}) => children.spawn(program, args, options),
    onCleanup: (hook) => void run.hooks.push(hook),
    onRelease: (hook) => void run.releases.push(hook),
    ...answer.voice,
  }
  const handler = settle(() => command.run(context as never, invocation.args as never))
  const sweep = once(() => sweepAtStart(scratch))
  setImmediate(sweep)

  if (behindChild) stopAfter(() => children.pids)

  const first = await Promise.race([handler, interruption])
  if (!('signal' in first)) {
    const exit = await teardown(run, first, 'SIGTERM', undefined)
    // A handler that is done before the loop has come round was too quick for it.
    await sweep()
    if (behindChild) await leaveTerminalAsItIs()
    if (behindChild && diedOfInterrupt(first)) dieOfInterrupt()
    return exit
  }
  answer.meta.partial = true
  stop.stop(first.error)
  const exit = await teardown(run, { error: first.error }, first.signal, stop.isHeard ? handler : undefined)
  if (behindChild && first.signal === 'SIGINT') dieOfInterrupt()
  return exit
}

function once<T>(act: () => T): () => T {
  let done: { result: T } | undefined
  return () => (done ??= { result: act() }).result
}

const diedOfInterrupt = (outcome: Outcome): boolean =>
  'error' in outcome &&
  outcome.error.code === 'CHILD_FAILED' &&
  outcome.error.options.facts?.signal === 'SIGINT'

function exitedEarly(code: number | string | undefined): Outcome {
  const exit = Number(code ?? 0)
  if (exit === 0) return { data: {} }
  return {
    error: new StintError('UNEXPECTED', `the command ended its own process with exit code ${exit}`, { exit }),
  }
}
