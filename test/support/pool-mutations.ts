import type { Disk } from '../../src/base/fs/disk.ts'
import { DiskQueue, type OffLoop } from '../../src/base/fs/disk-queue.ts'
import { type DiskSteps, runNow, type SlowCall } from '../../src/base/fs/disk-steps.ts'
import type { NewQueue } from './crash-simulation.ts'
import { laterTurns } from './later-turns.ts'

/** A way of committing in the thread pool that lacks one of its precautions. The crash search must notice. */
export interface PoolMutation {
  name: string
  workload: string
  newQueue: NewQueue
}

/** A queue whose pool treats some calls in another way. */
const withPool =
  (call: (pool: OffLoop, disk: Disk) => OffLoop['call']): NewQueue =>
  (disk) => {
    const pool = laterTurns(disk)
    return new DiskQueue(disk, { ...pool, call: call(pool, disk) })
  }

/** Starts every operation at once. */
class NoQueue extends DiskQueue {
  readonly #disk: Disk

  constructor(disk: Disk) {
    super(disk)
    this.#disk = disk
  }

  override start(steps: DiskSteps<unknown>, settle?: (error: unknown, result?: unknown) => void): void {
    new DiskQueue(this.#disk, laterTurns(this.#disk)).start(steps, settle)
  }
}

/** Runs what is asked for with `run`, a close for example, while groups are still in the pool. */
class Overtaking extends DiskQueue {
  readonly #disk: Disk

  constructor(disk: Disk) {
    super(disk, laterTurns(disk))
    this.#disk = disk
  }

  override async run<Result>(steps: DiskSteps<Result>): Promise<Result> {
    return runNow(this.#disk, steps)
  }
}

const nothing = (): void => {}

let others = 0

export const poolMutations: PoolMutation[] = [
  {
    name: 'a group that is acknowledged before its sync is done',
    workload: 'single appends',
    newQueue: withPool((pool) => (step: SlowCall, done) => {
      if (step.call !== 'sync') return pool.call(step, done)
      pool.call(step, nothing)
      setImmediate(done)
    }),
  },
  {
    name: 'two groups under way',
    workload: 'requests that wait for nothing',
    newQueue: (disk) => new NoQueue(disk),
  },
  {
    name: 'a close that overtakes a sync',
    workload: 'requests that wait for nothing',
    newQueue: (disk) => new Overtaking(disk),
  },
  {
    name: 'a descriptor that is closed under a job of the pool',
    workload: 'single appends',
    newQueue: withPool((pool, disk) => (step, done) => {
      pool.call(step, done)
      if (step.call !== 'write' || !Buffer.from(step.bytes).includes('{"seq":')) return
      disk.close(step.file)
      // The next file that the program opens gets the number.
      disk.create(`/other-${++others}`)
    }),
  },
]
