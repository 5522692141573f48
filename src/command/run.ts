import { after } from '../base/process/clock.ts'
import { formatDuration, timerMs } from '../base/text/duration.ts'
import { errorMessage } from '../base/errors/stint-error.ts'
import {
  cleanupCommand,
  createScratch,
  moveToTrash,
  removeViaTrash,
  type Scratch,
  scratchVariables,
  shouldKeep,
} from '../scratch/index.ts'
import { Children } from './children.ts'
import type { Command, RunSettings } from './define-command.ts'
import { type Guard, startGuard } from './guard.ts'
import type { Outcome, Reply } from './reply.ts'
import { screenOf } from './context.ts'

interface RunOptions {
  command: Command
  /** The arguments of the command, as its parser returned them. */
  args: unknown
  settings: RunSettings
  /** Milliseconds that children, the handler and each hook get to finish. */
  graceMs: number
  reply: Reply
  /** Whether there is a terminal whose keys send signals to our process group. */
  onTerminal: boolean
}

export type Hook = () => void | Promise<void>

/** How long the teardown waits for buffered output to be written. */
const flushPatienceMs = 2000

/** The parts of one run that must be ended: its children, hooks and scratch, and the guard behind them. */
export class Run {
  readonly scratch: Scratch
  readonly children: Children
  readonly #options: RunOptions
  /** `STINT_REQUEST_ID=…`: a process that has left its parent is still found by this in its environment. */
  readonly #mark: string
  readonly #cleanupHooks: Hook[] = []
  readonly #releaseHooks: Hook[] = []
  #guard: Guard | undefined
  #outcome: Outcome | undefined

  /** Makes the scratch, and exports it as the temp directory of this process and its children. */
  constructor(options: RunOptions) {
    const { command, settings, reply, onTerminal } = options
    this.#options = options
    this.scratch = createScratch({
      requestId: reply.meta.request_id,
      sessionId: settings.sessionId,
      parentRequestId: process.env.STINT_REQUEST_ID,
      command: settings.program ?? command.name,
      keep: settings.keep,
    })
    const { path, requestId } = this.scratch
    reply.meta.session_tmp_dir = path
    if (settings.sessionId !== undefined) reply.meta.session_id = settings.sessionId
    reply.note(`scratch ${path}`)
    Object.assign(process.env, {
      ...scratchVariables(this.scratch),
      ...(settings.sessionId === undefined ? {} : { STINT_SESSION_ID: settings.sessionId }),
    })
    this.#mark = `STINT_REQUEST_ID=${requestId}`
    this.children = new Children({
      scratchPath: path,
      mark: this.#mark,
      json: reply.json,
      onTerminal,
      onStarting: () => this.#startGuard(),
      onStarted: (child) => this.#guard?.watch(child),
      onUnrecorded: (error) => reply.warn(`${errorMessage(error)}: only the guard of this run knows of it`),
    })
    if (settings.guard === 'eager') this.#startGuard()
  }

  /** How the run ends; undefined until its teardown has begun. */
  get outcome(): Outcome | undefined {
    return this.#outcome
  }

  /** Adds a hook that runs while the scratch is still there. */
  onCleanup(hook: Hook): void {
    this.#cleanupHooks.push(hook)
  }

  /** Adds a hook that runs when children and scratch are gone, to give back what other processes wait for. */
  onRelease(hook: Hook): void {
    this.#releaseHooks.push(hook)
  }

  /**
   * Ends children, handler, hooks and scratch, in this order and each within its time, then gives the answer.
   * `signal` is for the children. `handler` is given if it must stop and listens to its signal. Returns the
   * exit code.
   */
  async end(outcome: Outcome, signal: NodeJS.Signals, handler?: Promise<unknown>): Promise<number> {
    const { command, graceMs } = this.#options
    this.#outcome = outcome
    const childrenEnded = this.children.end(signal, graceMs)
    // A handler that listens to its signal gets the same time to finish as the children.
    if (handler !== undefined) await Promise.race([handler, after(graceMs)])
    await childrenEnded
    await this.#runHooks(this.#cleanupHooks)
    // A failed run names no outputs to its caller.
    if ('error' in outcome)
      for (const { path } of this.scratch.outputs) removeViaTrash(this.scratch.root, path)
    this.#endScratch(outcome)
    await this.#runHooks(this.#releaseHooks.splice(0))
    const exit = this.#reply(outcome)
    if (command.envelope !== 'on-request') await flushStreams()
    this.#guard?.allEnded()
    return exit
  }

  /**
   * Ends the run synchronously, for a process that exits at once: kills the children, moves the scratch out
   * of sight, starts the release hooks and gives the answer. Returns the exit code.
   */
  endNow(outcome: Outcome): number {
    const { scratch } = this
    const failed = 'error' in outcome
    this.children.kill()
    if (failed) for (const { path } of scratch.outputs) moveToTrash(scratch.root, path)
    if (!this.#keepsScratch(outcome)) moveToTrash(scratch.root, scratch.path)
    scratch.release()
    for (const hook of this.#releaseHooks.splice(0).toReversed()) {
      try {
        // Nothing waits for what the hook leaves to a promise, so its failure cannot be reported.
        hook()?.catch(() => {})
      } catch (error) {
        this.#warnOfCleanup(errorMessage(error))
      }
    }
    // Before the teardown the handler has not returned: there is nothing to render.
    return this.#reply(outcome, this.#outcome !== undefined)
  }

  #startGuard(): void {
    const { settings, reply } = this.#options
    if (this.#guard !== undefined || settings.guard === 'off') return
    this.#guard = startGuard(this.scratch, this.#mark, () =>
      reply.warn('no guard: /bin/sh cannot be started; if this run is killed, the next sweep cleans up'),
    )
    // A killed run has failed: a scratch that is kept on failure is kept then, too.
    if (settings.keep !== undefined && settings.keep !== 'never') this.#guard?.keepScratch()
  }

  /** Runs hooks, newest first. A failure, or a hook that takes longer than the grace, becomes a warning. */
  async #runHooks(hooks: readonly Hook[]): Promise<void> {
    for (const hook of hooks.toReversed()) {
      try {
        await within(this.#options.graceMs, hook)
      } catch (error) {
        this.#warnOfCleanup(errorMessage(error))
      }
    }
  }

  #endScratch(outcome: Outcome): void {
    const { scratch } = this
    if (this.#keepsScratch(outcome)) {
      scratch.release()
      this.#options.reply.warn(`scratch kept at ${scratch.path}`)
      return
    }
    // The guard empties the trash after us, so nothing has to wait for the deletion.
    const { failures } = this.#guard?.alive ? scratch.moveToTrash() : scratch.remove()
    for (const { path, error } of failures) this.#warnOfCleanup(`${path} could not be removed: ${error}`)
  }

  #keepsScratch(outcome: Outcome): boolean {
    return shouldKeep(this.#options.settings.keep ?? 'never', 'error' in outcome)
  }

  #reply(outcome: Outcome, isRenderable = true): number {
    const { command, args, reply } = this.#options
    const { pidFile } = this.children
    if (pidFile !== undefined) reply.meta.session_pid_file = pidFile
    const answer = withCleanupCommand(outcome, this.scratch)
    if (!isRenderable) return reply.give(answer)
    return reply.give(answer, (data) =>
      command.render?.(data as never, screenOf(1, reply.verbose), args as never),
    )
  }

  #warnOfCleanup(message: string): void {
    this.#options.reply.warn(`CLEANUP_FAILED: ${message}`)
  }
}

async function within(ms: number, hook: Hook): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    const fail = (): void => reject(new Error(`a cleanup hook took longer than ${formatDuration(ms)}`))
    timer = setTimeout(fail, timerMs(ms))
  })
  try {
    await Promise.race([hook(), late])
  } finally {
    clearTimeout(timer)
  }
}

/** Adds the command that removes the run's outputs, if the answer is a plain object or empty. */
function withCleanupCommand(outcome: Outcome, { outputs }: Scratch): Outcome {
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

/** Waits until what the handler has printed to Node's streams is written. */
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
