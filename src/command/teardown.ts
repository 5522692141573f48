import { after } from '../base/process/clock.ts'
import { errorMessage } from '../base/errors/stint-error.ts'
import { cleanupCommand, moveToTrash, removeViaTrash, type Scratch, shouldKeep } from '../scratch/index.ts'
import type { Reply } from './reply.ts'
import type { Children } from './children.ts'
import { type CleanupHook, runCleanupHooks } from './cleanup-hooks.ts'
import type { Outcome } from './envelope.ts'
import type { Guard } from './guard.ts'
import type { Command, RunSettings } from './define-command.ts'

/** What a run has that must be ended, in the order in which it is. */
export interface RunParts {
  command: Command
  settings: RunSettings
  graceMs: number
  answer: Reply
  scratch: Scratch
  children: Children
  guard: Guard | undefined
  hooks: CleanupHook[]
  /** Gives back what others wait for: leases. */
  releases: CleanupHook[]
  /** Known once the teardown has begun: a hook that ends the process cannot change it. */
  outcome?: Outcome
}

const flushPatienceMs = 2000

/** Children, the handler, hooks, scratch, the answer: in this order, each within its time. Returns the exit code. */
export async function teardown(
  run: RunParts,
  outcome: Outcome,
  signal: NodeJS.Signals,
  handler: Promise<unknown> | undefined,
): Promise<number> {
  run.outcome = outcome
  const childrenEnded = run.children.end(signal, run.graceMs)
  // A handler that listens to the signal gets the same time to finish as the children.
  if (handler !== undefined) await Promise.race([handler, after(run.graceMs)])
  await childrenEnded
  await runCleanupHooks(run.hooks, run.graceMs, (message) => run.answer.warn(message))
  // A run that failed names no outputs to its caller.
  if ('error' in outcome) for (const { path } of run.scratch.outputs) removeViaTrash(run.scratch.root, path)
  removeScratch(run, outcome)
  await runCleanupHooks(run.releases.splice(0), run.graceMs, (message) => run.answer.warn(message))
  const exit = answer(run, outcome)
  if (run.command.envelope !== 'on-request') await flushStreams()
  run.guard?.allEnded()
  return exit
}

/** The same in the moment that is left when nobody will wait: synchronous, the scratch only out of sight. */
export function teardownAtOnce(run: RunParts, outcome: Outcome): number {
  const { scratch, settings } = run
  const failed = 'error' in outcome
  run.children.kill()
  if (failed) for (const { path } of scratch.outputs) moveToTrash(scratch.root, path)
  if (!shouldKeep(settings.keep ?? 'never', failed)) moveToTrash(scratch.root, scratch.path)
  scratch.release()
  releaseAtOnce(run)
  // A handler that has not returned has no answer to render.
  const isRenderable = run.outcome !== undefined
  return answer(run, outcome, isRenderable)
}

function releaseAtOnce({ releases, answer }: RunParts): void {
  for (const release of releases.splice(0).toReversed()) {
    try {
      // What takes longer fails unheard: nobody is left to hear it.
      release()?.catch(() => {})
    } catch (error) {
      answer.warn(`CLEANUP_FAILED: ${errorMessage(error)}`)
    }
  }
}

function answer(run: RunParts, outcome: Outcome, isRenderable = true): number {
  const { pidFile } = run.children
  if (pidFile !== undefined) run.answer.meta.session_pid_file = pidFile
  const full = withOutputs(outcome, run.scratch)
  const render = isRenderable && !('error' in full)
  return run.answer.give(full, render ? run.command.render?.(full.data as never) : undefined)
}

/** Files handed to the caller come with the command that removes them. */
function withOutputs(outcome: Outcome, { outputs }: Scratch): Outcome {
  if ('error' in outcome || outputs.length === 0 || !isPlainAnswer(outcome.data)) return outcome
  const cleanup = {
    command: cleanupCommand(outputs),
    auto_cleanup_after_seconds: Math.max(...outputs.map(({ keepSeconds }) => keepSeconds)),
  }
  return { data: { ...outcome.data, cleanup } }
}

const isPlainAnswer = (data: unknown): data is object | undefined =>
  data === undefined ||
  (typeof data === 'object' &&
    data !== null &&
    [Object.prototype, null].includes(Object.getPrototypeOf(data) as object))

function removeScratch({ scratch, settings, guard, answer }: RunParts, outcome: Outcome): void {
  if (shouldKeep(settings.keep ?? 'never', 'error' in outcome)) {
    scratch.release()
    answer.warn(`scratch kept at ${scratch.path}`)
    return
  }
  // With a guard the scratch only goes out of sight here: the guard empties the trash, and nobody waits for it.
  const { failures } = guard?.alive ? scratch.moveToTrash() : scratch.remove()
  for (const { path, error } of failures)
    answer.warn(`CLEANUP_FAILED: ${path} could not be removed: ${error}`)
}

async function flushStreams(): Promise<void> {
  const flushed = [process.stdout, process.stderr].map(
    (stream) =>
      new Promise<void>((resolve) => {
        if (stream.writableLength === 0) resolve()
        else stream.write('', () => resolve())
      }),
  )
  await Promise.race([Promise.all(flushed), after(flushPatienceMs)])
}
