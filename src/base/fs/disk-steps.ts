import type { Disk } from './disk.ts'

/** A call of a disk that may take long. */
export type SlowCall =
  | { call: 'write'; file: number; bytes: Uint8Array; from: number; position: number }
  | { call: 'sync'; file: number }
  | { call: 'syncDirectory'; path: string }

/**
 * An operation on files that leaves its slow calls to the code that runs it: `runNow` makes them on the event
 * loop, a `DiskQueue` makes them there or in the thread pool. A `yield` without a call marks a place where
 * the event loop may run.
 */
export type DiskSteps<Result = void> = Generator<SlowCall | void, Result, unknown>

/** Makes a call on the event loop. */
export function makeCall(disk: Disk, step: SlowCall): unknown {
  if (step.call === 'write') return disk.write(step.file, step.bytes, step.from, step.position)
  return step.call === 'sync' ? disk.sync(step.file) : disk.syncDirectory(step.path)
}

/** Runs an operation to its end on the event loop. */
export function runNow<Result>(disk: Disk, steps: DiskSteps<Result>): Result {
  let at = steps.next()
  while (!at.done) {
    let made: unknown
    try {
      if (at.value !== undefined) made = makeCall(disk, at.value)
    } catch (error) {
      at = steps.throw(error)
      continue
    }
    at = steps.next(made)
  }
  return at.value
}

/** How much is written, read or hashed in one step: more may keep the event loop for milliseconds. */
export const pieceBytes = 256 << 10

/** Writes all bytes from `position` on, in pieces; a disk may take fewer bytes than it was given. */
export function* writeSteps(file: number, bytes: Uint8Array, position: number): DiskSteps {
  for (let done = 0; done < bytes.length;) {
    const piece = bytes.length <= pieceBytes ? bytes : bytes.subarray(0, done + pieceBytes)
    const step = { call: 'write', file, bytes: piece, from: done, position: position + done } as const
    const written = (yield step) as number
    if (written === 0) throw Object.assign(new Error('the disk takes no more'), { code: 'ENOSPC' })
    done += written
  }
}
