import { lstatSync, readdirSync, readlinkSync, symlinkSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { ifPossible } from '../base/errors/if-possible.ts'
import { StintError } from '../base/errors/stint-error.ts'
import { ifExists, unless } from '../base/fs/exists.ts'
import { after, systemClock } from '../base/process/clock.ts'
import { type Identity, liveness, ownIdentity } from '../base/process/liveness.ts'
import { parseObject } from '../base/text/fields.ts'

const pollMs = 20
/** How long a copier waits for another one; the largest conversation is copied within this time. */
const maxWaitMs = 60_000
/** A holder of another machine or namespace cannot be examined: its lock counts for this long. */
const unknownHolderMs = 3_600_000
const free = 'free'

/**
 * Runs `work` while no other process works in this directory. The lock is a symbolic link, `lock.<N>`, whose
 * target names its process, and the link with the highest number counts. A link appears whole and fails if
 * its name is taken, so of several processes that follow on one number, one wins.
 */
export async function withLock<Result>(directory: string, work: () => Promise<Result>): Promise<Result> {
  const deadline = systemClock.mono() + maxWaitMs
  for (;;) {
    const outcome = await ifUnlocked(directory, work)
    if (outcome !== undefined) return outcome.result
    if (systemClock.mono() > deadline)
      throw new StintError('LOCK_HELD', `another process works on ${directory}`, {
        hint: 'Try again when that process, a sync of the vault, has ended.',
      })
    await after(pollMs)
  }
}

/** Runs `work` as `withLock` does; returns undefined at once if another process works in this directory. */
export async function ifUnlocked<Result>(
  directory: string,
  work: () => Promise<Result>,
): Promise<{ result: Result } | undefined> {
  const number = acquire(directory)
  if (number === undefined) return undefined
  try {
    return { result: await work() }
  } finally {
    // The directory is gone if the work has removed it.
    unless(['ENOENT'], () => publish(directory, number + 1, free))
  }
}

/** The number of the lock that this process has taken; undefined if another one has it. */
function acquire(directory: string): number | undefined {
  for (;;) {
    const top = topNumber(directory)
    if (top > 0 && !isFree(join(directory, nameOf(top)))) return undefined
    if (publish(directory, top + 1, JSON.stringify(ownIdentity()))) return top + 1
  }
}

const nameOf = (number: number): string => `lock.${number}`

const numbersIn = (directory: string): number[] =>
  readdirSync(directory)
    .flatMap((name) => /^lock\.(\d{1,15})$/.exec(name)?.[1] ?? [])
    .map(Number)

const topNumber = (directory: string): number => Math.max(0, ...numbersIn(directory))

function isFree(path: string): boolean {
  const target = ifExists(() => readlinkSync(path))
  if (target === undefined || target === free) return true
  const holder = parseObject(target) as Identity | undefined
  const state = holder === undefined ? 'unknown' : liveness(holder)
  if (state !== 'unknown') return state === 'dead'
  return Math.abs(Date.now() - (ifPossible(() => lstatSync(path).mtimeMs) ?? 0)) > unknownHolderMs
}

/**
 * Makes the link with this number; false if it lost. A process that was stopped since it listed the directory
 * can make a link below the top, where older ones have been removed: it counts for nothing, and is removed.
 */
function publish(directory: string, number: number, text: string): boolean {
  const path = join(directory, nameOf(number))
  const isMade = unless(['EEXIST'], () => {
    symlinkSync(text, path)
    return true
  })
  if (isMade === undefined) return false
  const numbers = numbersIn(directory)
  const isTop = Math.max(...numbers) === number
  for (const other of isTop ? numbers.filter((each) => each < number) : [number])
    ifExists(() => unlinkSync(join(directory, nameOf(other))))
  return isTop
}
