import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process'
import { existsSync } from 'node:fs'
import { constants } from 'node:os'
import { after, sleep, systemClock } from '../base/process/clock.ts'
import { type Identity, identify, liveness, ownIdentity } from '../base/process/liveness.ts'
import { type Found, processesOf, signalProcess } from '../base/process/process-tree.ts'
import { codedError, errorCode, errorMessage, StintError } from '../base/errors/stint-error.ts'
import { childrenPath, ChildrenRecord } from '../scratch/index.ts'
import type { ChildExit, RunChild } from './context.ts'

export interface ChildrenOptions {
  scratchPath: string
  /** `STINT_REQUEST_ID=…`, by which a process that has left its parent is still found. */
  mark: string
  /** In JSON mode stdout belongs to the envelope: a child that inherits it gets our stderr. */
  json: boolean
  /** On a terminal children stay in our process group, so that its keys and job control reach them. */
  terminal: boolean
  /** Before a child is started; not if none is taken any more. */
  onStarting: () => void
  onStarted: (child: Identity) => void
}

/** How long after SIGKILL a process may take to be gone before we go on without it. */
const killPatienceMs = 2000
/** How much of the grace SIGINT and SIGHUP have to themselves before SIGTERM follows. */
const hearingShare = 0.1
const lookEveryMs = 20
const killPasses = 10

/** The children of one run: started, recorded, and ended with it. */
export class Children {
  readonly #options: ChildrenOptions
  readonly #identities: Identity[] = []
  /** Descendants seen so far: when its parent has died, nothing else may link one to the run. */
  readonly #seen = new Map<number, Identity>()
  #record: ChildrenRecord | undefined
  #closed = false

  constructor(options: ChildrenOptions) {
    this.#options = options
  }

  get pids(): number[] {
    return this.#identities.map(({ pid }) => pid)
  }

  /** Where the children are listed, once there was one. */
  get pidFile(): string | undefined {
    return this.#identities.length === 0 ? undefined : childrenPath(this.#options.scratchPath)
  }

  async spawn(command: string, args: readonly string[], options: SpawnOptions): Promise<RunChild> {
    if (this.#closed) throw new StintError('CANCELLED', 'the run is ending: no more children are started')
    this.#record ??= new ChildrenRecord(this.#options.scratchPath)
    this.#options.onStarting()
    const child = start(command, options.cwd, () =>
      spawn(command, args, {
        ...options,
        ...(options.env === undefined ? {} : { env: { ...options.env, ...this.#markVariable() } }),
        stdio: this.#options.json ? stdoutToStderr(options.stdio) : options.stdio,
        detached: !this.#options.terminal,
      }),
    )
    const exited = new Promise<ChildExit>((resolve) => {
      child.once('exit', (code, signal) => resolve({ code, signal }))
      // An error after the start (an AbortSignal, a failed kill) is not yet its end.
      child.on('error', () => {
        if (child.pid === undefined) resolve({ code: null, signal: null })
      })
    })
    this.#note(child, command)
    await started(child, command, options.cwd)
    return { pid: child.pid ?? 0, process: child, exited }
  }

  /** Ends every child and descendant: the signal, the grace, then SIGKILL. Takes no new ones. */
  async end(signal: NodeJS.Signals, graceMs: number): Promise<void> {
    this.#closed = true
    // A shell starts its background jobs deaf to SIGINT: what does not hear the first signal gets the usual one.
    const hearingMs = signal === 'SIGTERM' ? 0 : graceMs * hearingShare
    this.#signal(signal)
    if (await this.#gone(hearingMs)) return
    if (hearingMs > 0) this.#signal('SIGTERM')
    if (await this.#gone(graceMs - hearingMs)) return
    await this.#gone(killPatienceMs, 'SIGKILL')
  }

  /** At once, for an exit that waits for nothing. */
  kill(): void {
    this.#closed = true
    // More than once: a process may fork while its parent is being killed.
    for (let pass = 0; pass < killPasses; pass++) {
      const living = this.#living()
      if (living.length === 0) return
      for (const each of living) signalProcess(each, 'SIGKILL')
      sleep(1)
    }
  }

  /** To our own children alone, not to what they started. */
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
      // A child that is on no record must not go on: after a kill -9 nobody would know of it.
      child.kill('SIGKILL')
      throw error
    }
  }

  #markVariable(): Record<string, string> {
    const [name = '', value = ''] = this.#options.mark.split('=')
    return { [name]: value }
  }

  #signal(signal: NodeJS.Signals): void {
    for (const each of this.#living()) {
      signalProcess(each, signal)
      // A stopped process hears nothing until it goes on.
      signalProcess(each, 'SIGCONT')
    }
  }

  #living(): Found[] {
    if (ownIdentity().started !== null) {
      const living = processesOf([...this.#identities, ...this.#seen.values()], this.#options.mark)
      for (const { pid, started } of living) this.#seen.set(pid, { ...ownIdentity(), pid, started })
      return living
    }
    return this.#identities
      .filter((each) => liveness(each) === 'alive')
      .map(({ pid, started }) => ({ pid, started: started ?? 0 }))
  }

  async #gone(withinMs: number, again?: NodeJS.Signals): Promise<boolean> {
    const end = systemClock.mono() + withinMs
    for (;;) {
      const living = this.#living()
      if (living.length === 0) return true
      if (systemClock.mono() >= end) return false
      if (again !== undefined) for (const each of living) signalProcess(each, again)
      await after(lookEveryMs)
    }
  }
}

/** 128 + n, as a shell reports a child that a signal ended. */
export const exitCodeOf = ({ code, signal }: ChildExit): number =>
  code ?? (signal === null ? 1 : 128 + (constants.signals[signal] ?? 0))

function start(command: string, cwd: SpawnOptions['cwd'], spawn: () => ChildProcess): ChildProcess {
  try {
    return spawn()
  } catch (error) {
    if (errorCode(error)?.startsWith('ERR_')) {
      // Arguments Node refuses: a NUL byte, an empty command.
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
    {
      cause: error,
    },
  )
}

function stdoutToStderr(stdio: SpawnOptions['stdio']): SpawnOptions['stdio'] {
  const list = Array.isArray(stdio) ? [...stdio] : [stdio, stdio, stdio]
  const out = list[1]
  if (out === 'inherit' || out === 1) list[1] = 2
  return list as SpawnOptions['stdio']
}
