import type { Disk } from '../../src/base/fs/disk.ts'
import type { OffLoop } from '../../src/base/fs/disk-queue.ts'
import { makeCall, type SlowCall } from '../../src/base/fs/disk-steps.ts'

/** A disk whose open files can be used under a second number, as the kernel does during a call. */
type DiskWithCalls = Disk & { duplicate?: (file: number) => number }

/**
 * Makes every slow call of a disk off the event loop, as the thread pool does on a slow disk. A call waits in
 * the pool, looks up its file by the number, takes effect and returns, each in a turn of the event loop.
 */
export function laterTurns(disk: DiskWithCalls): OffLoop {
  const begin = (step: SlowCall): (() => unknown) => {
    if (step.call === 'syncDirectory' || disk.duplicate === undefined) return () => makeCall(disk, step)
    const file = disk.duplicate(step.file)
    return () => {
      try {
        return makeCall(disk, { ...step, file })
      } finally {
        disk.close(file)
      }
    }
  }
  return {
    isNeeded: true,
    note: () => {},
    call(step, done) {
      const fails = (error: unknown): void => void setImmediate(() => done(error))
      const inTurn = (act: () => void): void =>
        void setImmediate(() => {
          try {
            act()
          } catch (error) {
            fails(error)
          }
        })
      inTurn(() => {
        const effect = begin(step)
        inTurn(() => {
          const result = effect()
          setImmediate(() => done(undefined, result))
        })
      })
    },
  }
}

/** Where commits run: the tests of durability and fencing prove both. */
export const commitWays = ['on the event loop', 'in the thread pool'] as const
export type CommitWay = (typeof commitWays)[number]

/** Returns the stand-in for the thread pool; undefined if commits stay on the event loop. */
export const offLoopOf = (way: CommitWay, disk: Disk): OffLoop | undefined =>
  way === 'in the thread pool' ? laterTurns(disk) : undefined
