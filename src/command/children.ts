import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process'
import { existsSync } from 'node:fs'
import { constants } from 'node:os'
import { after, sleep, systemClock } from '../base/process/clock.ts'
import { type Identity, identify, liveness, ownIdentity } from '../base/process/liveness.ts'
import { type LivingProcess, processesOf, signalProcess } from '../base/process/process-table.ts'
import { codedError, errorCode, errorMessage, StintError } from '../base/errors/stint-error.ts'
import { ChildrenRecord } from '../scratch/index.ts'
import type { ChildExit, RunChild } from './context.ts'

interface ChildrenOptions {
  scratchPath: string
  /** `STINT_REQUEST_ID=…`: a process that has left its parent is still found by this in its environment. */
  mark: string
  /** Whether stdout belongs to the envelope: then a child that would inherit it gets our stderr. */
  json: boolean
  /** On a terminal, children stay in our process group, so that its keys and job control reach them. */
  onTerminal: boolean
  /** Called before a child is started. */
  onStarting: () => void
  onStarted: (child: Identity) => void
  /** Called if a child that runs could not be recorded: no sweep will know of it. */
  onUnrecorded: (error: unknown) => void
}

/** How long a process may take to disappear after SIGKILL before the teardown goes on without it. */
const killPatienceMs = 2000
/** The part of the grace that passes after SIGINT or SIGHUP before SIGTERM follows. */
const shareBeforeTerm = 0.1
const pollMs = 20
const killPasses = 10

/** The children of one run: starts them, records them, and ends them with the run. */
export class Children {
  readonly #options: ChildrenOptions
  readonly #identities: Identity[] = []
  /** Descendants found so far. When the parent of one has died, nothing else may link it to the run. */
  readonly #descendants = new Map<number, Identity>()
  #record: ChildrenRecord | undefined
  #closed = false

  constructor(options: ChildrenOptions) {
    this.#options = options
  }

  get pids(): number[] {
    return this.#identities.map(({ pid }) => pid)
  }

  /** The file that lists the children; undefined before the first one. */
  get pidFile(): string | undefined {
    return this.#identities.length === 0 ? undefined : this.#record?.path
  }

  async spawn(command: string, args: readonly string[], options: SpawnOptions): Promise<RunChild> {
    if (this.#closed) throw new StintError('CANCELLED', 'the run is ending: no more children are started')
    this.#record ??= new ChildrenRecord(this.#options.scratchPath)
    this.#options.onStarting()
    const [name = '', value = ''] = this.#options.mark.split('=')
    const child = start(command, options.cwd, () =>
      spawn(command, args, {
        ...options,
        ...(options.env === undefined ? {} : { env: { ...options.env, [name]: value } }),
        stdio: this.#options.json ? stdoutToStderr(options.stdio) : options.stdio,
        detached: !this.#options.onTerminal,
      }),
    )
    const exited = new Promise<ChildExit>((resolve) => {
      child.once('exit', (code, signal) => resolve({ code, signal }))
      // An error after the start (an AbortSignal, a failed kill) does not mean that the child has ended.
      child.on('error', () => {
        if (child.pid === undefined) resolve({ code: null, signal: null })
      })
    })
    this.#note(child, command)
    await started(child, command, options.cwd)
    return { pid: child.pid ?? 0, process: child, exited }
  }

  /** Ends every child and descendant, after the grace with SIGKILL. From then on, `spawn` refuses. */
  async end(signal: NodeJS.Signals, graceMs: number): Promise<void> {
    this.#closed = true
    // A shell starts background jobs with SIGINT ignored, so SIGTERM follows for those that did not react.
    const firstMs = signal === 'SIGTERM' ? 0 : graceMs * shareBeforeTerm
    this.#signal(signal)
    if (await this.#waitUntilGone(firstMs)) return
    if (firstMs > 0) this.#signal('SIGTERM')
    if (await this.#waitUntilGone(graceMs - firstMs)) return
    await this.#waitUntilGone(killPatienceMs, 'SIGKILL')
  }

  /** Kills every child and descendant synchronously, for an exit that cannot wait. */
  kill(): void {
    this.#closed = true
    // In several passes, because a process may fork while its parent is being killed.
    for (let pass = 0; pass < killPasses; pass++) {
      const children = this.#living()
      if (children.length === 0) return
      for (const child of children) signalProcess(child, 'SIGKILL')
      sleep(1)
    }
  }

  /** Passes a signal on to the direct children only. */
  forward(signal: NodeJS.Signals): void {
    for (const { pid, started } of this.#identities) {
      signalProcess({ pid, started: started ?? 0 }, signal)
    }
  }

  #note(child: ChildProcess, command: string): void {
    const identity = child.pid === undefined ? undefined : identify(child.pid)
    if (identity === undefined) return
    this.#identities.push(identity)
    this.#options.onStarted(identity)
    try {
      this.#record?.add(identity, command)
    } catch (error) {
      // The child may have done its work by now: killing it and reporting that it never ran would be wrong.
      this.#options.onUnrecorded(error)
    }
  }

  #signal(signal: NodeJS.Signals): void {
    for (const child of this.#living()) {
      signalProcess(child, signal)
      // A stopped process handles no signal until it continues.
      signalProcess(child, 'SIGCONT')
    }
  }

  #living(): LivingProcess[] {
    if (ownIdentity().started !== null) {
      const processes = processesOf([...this.#identities, ...this.#descendants.values()], this.#options.mark)
      for (const { pid, started } of processes) this.#descendants.set(pid, { ...ownIdentity(), pid, started })
      return processes
    }
    return this.#identities
      .filter((identity) => liveness(identity) === 'alive')
      .map(({ pid, started }) => ({ pid, started: started ?? 0 }))
  }

  /** Polls until no process is left, or the time is over. Sends `repeated` to the rest at every poll. */
  async #waitUntilGone(withinMs: number, repeated?: NodeJS.Signals): Promise<boolean> {
    const end = systemClock.mono() + withinMs
    for (;;) {
      const children = this.#living()
      if (children.length === 0) return true
      if (systemClock.mono() >= end) return false
      if (repeated !== undefined) for (const child of children) signalProcess(child, repeated)
      await after(pollMs)
    }
  }
}

/** The exit code of a child as a shell reports it: 128 + n if signal n ended it. */
export const exitCodeOf = ({ code, signal }: ChildExit): number =>
  code ?? (signal === null ? 1 : 128 + (constants.signals[signal] ?? 0))

function start(command: string, cwd: SpawnOptions['cwd'], spawn: () => ChildProcess): ChildProcess {
  try {
    return spawn()
  } catch (error) {
    if (errorCode(error)?.startsWith('ERR_')) {
      // Node refuses the arguments: a NUL byte, an empty command.
      throw new StintError('ARG_ERROR', errorMessage(error), { cause: error })
    }
    throw startError(error as Error, command, cwd)
  }
}

function started(child: ChildProcess, command: string, cwd: SpawnOptions['cwd']): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', (error) => reject(startError(error, command, cwd)))
  })
}

function startError(error: Error, command: string, cwd: SpawnOptions['cwd']): StintError {
  const errno = errorCode(error)
  if (cwd !== undefined && !existsSync(cwd))
    return new StintError('NOT_FOUND', `there is no directory ${String(cwd)}`)
  if (errno === 'EMFILE' || errno === 'ENFILE') return codedError(error, `run ${command}`) as StintError
  const where = cwd === undefined ? '' : ` in ${String(cwd)}`
  if (errno === 'ENOENT')
    return new StintError('COMMAND_NOT_FOUND', `cannot find ${command}${where}`, { cause: error })
  return new StintError(
    'COMMAND_NOT_EXECUTABLE',
    `cannot run ${command}${where}: ${errno ?? error.message}`,
    { cause: error },
  )
}

function stdoutToStderr(stdio: SpawnOptions['stdio']): SpawnOptions['stdio'] {
  const list = Array.isArray(stdio) ? [...stdio] : [stdio, stdio, stdio]
  const out = list[1]
  if (out === 'inherit' || out === 1) list[1] = 2
  return list as SpawnOptions['stdio']
}
