import type { SpawnOptions } from 'node:child_process'
import { isSessionId } from '../base/text/id.ts'
import { StintError } from '../base/errors/stint-error.ts'
import { sweepAtStart } from '../sweep/index.ts'
import { type BareContext, type CommandContext, makeBareContext } from './context.ts'
import type { Command, RunSettings } from './define-command.ts'
import {
  type Interruptions,
  StopSignal,
  dieOfInterrupt,
  hasControllingTerminal,
  leaveTerminalAsItIs,
  stopWithChildren,
} from './interruption.ts'
import { type Outcome, outcomeOf, type Reply } from './reply.ts'
import { type Hook, Run } from './run.ts'
import type { Invocation } from './invocation.ts'

/** Runs a command with a scratch, children and a teardown. Returns its exit code. */
export async function execute(
  command: Command,
  invocation: Invocation,
  reply: Reply,
  interruptions: Interruptions,
): Promise<number> {
  const settings = await checkedSettings(command, invocation)
  const onTerminal = hasControllingTerminal()
  const isBehindChild = onTerminal && command.interrupt === 'child'
  if (reply.json && command.envelope !== 'on-request') reserveStdout()

  const { args, graceMs, timeoutMs } = invocation
  const run = new Run({ command, args, settings, graceMs, reply, onTerminal })
  const { children } = run
  // A handler may call process.exit itself. Prepended, because the scratch has an exit listener of its own,
  // and the children must be killed before their scratch is removed.
  process.prependListener('exit', (code) => {
    if (!reply.isGiven) process.exitCode = run.endNow(run.outcome ?? outcomeOfExit(code))
  })
  const interruption = interruptions.follow({
    timeoutMs,
    // Before the first child starts, as while the handler waits for a lease, Ctrl-C ends the run. A child
    // that Ctrl-C has killed still counts: its death decides how the run ends.
    childHasInterrupts: isBehindChild ? () => children.pids.length > 0 : undefined,
    forward: (signal) => children.forward(signal),
    onSecondInterrupt: (error) => process.exit(run.endNow({ error })),
    onLaterError: (error) => reply.warn(`CLEANUP_FAILED: ${error.message}`),
  })
  if (isBehindChild) stopWithChildren(() => children.pids)

  const stop = new StopSignal()
  const context = makeContext(run, settings, timeoutMs, makeBareContext(reply, stop, reply.json))
  const handler = outcomeOf(() => command.run(context as never, args as never))
  const sweep = once(() => sweepAtStart(run.scratch))
  setImmediate(sweep)

  const first = await Promise.race([handler, interruption])
  if ('signal' in first) {
    reply.meta.partial = true
    stop.stop(first.error)
    const exit = await run.end({ error: first.error }, first.signal, stop.wasRead ? handler : undefined)
    if (isBehindChild && first.signal === 'SIGINT') dieOfInterrupt()
    return exit
  }
  const exit = await run.end(first, 'SIGTERM')
  // A handler may be done before the event loop has come round to the sweep.
  await sweep()
  if (isBehindChild) await leaveTerminalAsItIs()
  if (isBehindChild && diedOfInterrupt(first)) dieOfInterrupt()
  return exit
}

/** Completes a context. Assigns, because a spread would read the getter of the signal. */
const makeContext = (
  run: Run,
  { sessionId }: RunSettings,
  timeoutMs: number | undefined,
  context: BareContext,
): CommandContext =>
  Object.assign(context, {
    sessionId,
    tmpDir: run.scratch.path,
    scratch: run.scratch,
    deadline: timeoutMs === undefined ? undefined : Date.now() + timeoutMs,
    spawn: (program: string, args: readonly string[] = [], options: SpawnOptions = {}) =>
      run.children.spawn(program, args, options),
    onCleanup: (hook: Hook) => run.onCleanup(hook),
    onRelease: (hook: Hook) => run.onRelease(hook),
  })

/** Asks the command for its settings, and checks them before anything is made. */
async function checkedSettings(command: Command, { args }: Invocation): Promise<RunSettings> {
  const settings = (await command.settings?.(args as never)) ?? {}
  const sessionId = settings.sessionId ?? (process.env.STINT_SESSION_ID || undefined)
  if (sessionId === undefined || isSessionId(sessionId)) return { ...settings, sessionId }
  throw new StintError(
    'SESSION_ID_INVALID',
    `${JSON.stringify(sessionId.slice(0, 140))} cannot be a session id`,
  )
}

/** Sends everything a handler prints to stderr: in JSON mode stdout carries the envelope and nothing else. */
function reserveStdout(): void {
  // A logger keeps the stream at import, and `console` at its first line: both hold this object.
  process.stdout.write = process.stderr.write.bind(process.stderr)
  Object.defineProperty(process, 'stdout', { configurable: true, get: () => process.stderr })
}

function once<T>(act: () => T): () => T {
  let call: { result: T } | undefined
  return () => (call ??= { result: act() }).result
}

const diedOfInterrupt = (outcome: Outcome): boolean =>
  'error' in outcome &&
  outcome.error.code === 'CHILD_FAILED' &&
  outcome.error.options.facts?.signal === 'SIGINT'

/** The outcome of a handler that called process.exit. */
function outcomeOfExit(code: number | string | undefined): Outcome {
  const exit = Number(code ?? 0)
  if (exit === 0) return { data: {} }
  return {
    error: new StintError('UNEXPECTED', `the command ended its own process with exit code ${exit}`, { exit }),
  }
}
