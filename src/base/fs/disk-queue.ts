import { systemClock } from '../process/clock.ts'
import { isTurnLong } from '../process/event-loop.ts'
import type { Disk } from './disk.ts'
import { type DiskSteps, makeCall, runNow, type SlowCall } from './disk-steps.ts'

/** Where slow calls run while the disk is slow: in the thread pool, or in a test's stand-in for it. */
export interface OffLoop {
  /** Should the next call leave the event loop? */
  readonly isNeeded: boolean
  /** Notes how long a sync took, on the event loop or off it, in milliseconds. */
  note(syncMs: number): void
  /** Makes a call, and calls `done` in a later turn of the event loop. */
  call(step: SlowCall, done: (error: unknown, result?: unknown) => void): void
}

type Advanced = IteratorResult<SlowCall | void, unknown>

interface Operation {
  steps: DiskSteps<unknown>
  settle: (error: unknown, result?: unknown) => void
}

/**
 * Runs operations on the files of one session, one at a time and in order. Without `offLoop` each runs to its
 * end in one piece.
 */
export class DiskQueue {
  readonly #disk: Disk
  readonly #offLoop: OffLoop | undefined
  readonly #waiting: Operation[] = []
  #isBusy = false
  #isEnding = false
  /** Resumes the operation that waits for a call in the thread pool, or for its turn, at once. */
  #resumeNow: (() => void) | undefined

  constructor(disk: Disk, offLoop?: OffLoop) {
    this.#disk = disk
    this.#offLoop = offLoop
  }

  /** Runs an operation after those before it; at once if there are none. */
  run<Result>(steps: DiskSteps<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.start(steps, (error, result) => (error === undefined ? resolve(result as Result) : reject(error)))
    })
  }

  /** Runs an operation like `run`, and calls `settle` at its end, which may be before this returns. */
  start(steps: DiskSteps<unknown>, settle: Operation['settle'] = throwIfFailed): void {
    const operation = { steps, settle }
    if (this.#isBusy) this.#waiting.push(operation)
    else this.#begin(operation)
  }

  /** Is the process ending? Memory that was passed to a call in the thread pool may still be read. */
  get isEnding(): boolean {
    return this.#isEnding
  }

  /**
   * Runs all operations and then this one to their ends, on the event loop, because the process ends. A call
   * in the thread pool is made a second time, with the same effect. Its file stays open: the thread may still
   * use the number, and must not find another file there.
   */
  endNow(steps: DiskSteps<unknown>): void {
    this.#isEnding = true
    const resume = this.#resumeNow
    this.#resumeNow = undefined
    resume?.()
    runNow(this.#disk, steps)
  }

  /** `resume` goes on in a later turn of the event loop, unless the end of the process comes first. */
  #later(resume: () => void): () => void {
    this.#resumeNow = resume
    return () => this.#wake(resume)
  }

  #wake(resume: () => void): void {
    if (this.#isEnding) return
    this.#resumeNow = undefined
    resume()
  }

  #begin(operation: Operation): void {
    this.#isBusy = true
    this.#advance(operation, () => operation.steps.next())
  }

  /** Resumes an operation, and runs it until it ends or has to wait. */
  #advance(operation: Operation, resume: () => Advanced): void {
    const { steps } = operation
    const offLoop = this.#offLoop
    let next = resume
    for (;;) {
      let at: Advanced
      try {
        at = next()
      } catch (error) {
        this.#end(() => operation.settle(error))
        return
      }
      if (at.done) {
        const { value } = at
        this.#end(() => operation.settle(undefined, value))
        return
      }
      const step = at.value
      if (step !== undefined && offLoop?.isNeeded && !this.#isEnding) {
        this.#resumeNow = () => {
          if (step.call !== 'syncDirectory') this.#disk.keepOpen?.(step.file)
          this.#advance(operation, this.#onLoop(steps, step))
        }
        offLoop.call(step, (error, result) =>
          this.#wake(() =>
            this.#advance(operation, () => (error == null ? steps.next(result) : steps.throw(error))),
          ),
        )
        return
      }
      next = step === undefined ? () => steps.next() : this.#onLoop(steps, step)
      if (offLoop !== undefined && !this.#isEnding && isTurnLong()) {
        const resume = next
        setImmediate(this.#later(() => this.#advance(operation, resume)))
        return
      }
    }
  }

  /** Makes a call on the event loop; returns how the operation goes on. */
  #onLoop(steps: DiskSteps<unknown>, step: SlowCall): () => Advanced {
    const from = this.#offLoop === undefined ? 0 : systemClock.mono()
    try {
      const result = makeCall(this.#disk, step)
      return () => steps.next(result)
    } catch (error) {
      return () => steps.throw(error)
    } finally {
      if (step.call !== 'write') this.#offLoop?.note(systemClock.mono() - from)
    }
  }

  /**
   * The next operation begins in a later turn: callers that were just answered can add their next records to
   * the group that is waiting.
   */
  #end(settle: () => void): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#isBusy = false
    else if (!this.#isEnding) setImmediate(this.#later(() => this.#begin(next)))
    settle()
    if (next !== undefined && this.#isEnding) this.#begin(next)
  }
}

function throwIfFailed(error: unknown): void {
  if (error !== undefined) throw error
}
