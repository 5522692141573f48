import type { Disk } from '../../src/base/fs/disk.ts'
import { OperationQueue } from '../../src/session/log/writer.ts'
import { laterTurns, nextTurn } from './later-turns.ts'

/** A way of committing in the thread pool that lacks one of its precautions. The crash search must notice. */
export interface PoolMutation {
  name: string
  workload: string
  /** Makes the disk whose calls run in the pool. */
  pool: (disk: Disk) => Disk
  /** Replaces the queue of every session. */
  run?: OperationQueue['run']
}

let others = 0
const { run } = OperationQueue.prototype

export const poolMutations: PoolMutation[] = [
  {
    name: 'a group that is acknowledged before its sync is done',
    workload: 'single appends',
    pool: (disk) => {
      const pool = laterTurns(disk)
      const sync = async (file: number): Promise<void> => {
        Promise.resolve(pool.sync(file)).catch(() => {})
        await nextTurn()
      }
      return { ...pool, sync }
    },
  },
  {
    name: 'two groups under way',
    workload: 'requests that wait for nothing',
    pool: laterTurns,
    run: (operation) => operation(),
  },
  {
    name: 'a close that overtakes a sync',
    workload: 'requests that wait for nothing',
    pool: laterTurns,
    run<Result>(this: OperationQueue, operation: () => Promise<Result>): Promise<Result> {
      // Only the commits of groups wait for each other, and a close waits for none of them.
      const source = operation.toString()
      if (source.includes('isQueued')) return run.call(this, operation) as Promise<Result>
      return source.includes('flush') ? Promise.resolve(undefined as Result) : operation()
    },
  },
  {
    name: 'a descriptor that is closed under a job of the pool',
    workload: 'single appends',
    pool: (disk) => {
      const pool = laterTurns(disk)
      return {
        ...pool,
        write(file, bytes, ...rest) {
          const written = pool.write(file, bytes, ...rest)
          if (!Buffer.from(bytes).includes('{"seq":')) return written
          disk.close(file)
          // The next file that the program opens gets the number.
          void disk.create(`/other-${++others}`)
          return written
        },
      }
    },
  },
]

/** Runs a search while every queue has this mutation. */
export async function withQueue<Result>(
  mutated: OperationQueue['run'] | undefined,
  search: () => Promise<Result>,
): Promise<Result> {
  OperationQueue.prototype.run = mutated ?? run
  try {
    return await search()
  } finally {
    OperationQueue.prototype.run = run
  }
}
