import { lstatSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { errorCode } from '../base/errors/stint-error.ts'
import { homeUnsafe, stintHome, withHomeErrors } from '../base/fs/home.ts'
import { measureTree } from '../base/fs/measure-tree.ts'
import { ownDirectoryProblem } from '../base/fs/own-directory.ts'
import { nothingRemoved, type Removal, removeTree } from '../base/fs/remove-tree.ts'
import { removeActivityLog } from './activity-log.ts'
import { countableTime, generationAt, parseClaimsRecord } from './claim-record.ts'
import { isInForce } from './claim-status.ts'
import { homeRegister, stagedPrefix } from './file-register.ts'
import { isWorkspaceKey } from './lease-target.ts'
import { sweepPasses } from './pass.ts'
import { runSync } from '../base/process/run-generator.ts'
import type { Register, Steps } from './register.ts'
import { sweepPrompts } from './session-prompt.ts'
import { sweptUntilKey } from './stored-claims.ts'
import { removeAbandoned } from './waiters.ts'
import { livenessFor } from './stored-claims.ts'

/**
 * A record without a claim in force goes when it has not changed for this long. No process stays suspended
 * inside an operation on the record for as long: that is what the removal of a key relies on.
 */
const unusedAfterMs = 7 * 24 * 3_600_000

/** A directory that a process has prepared for a new key, and never renamed, is removed after a day. */
const stagedAfterMs = 24 * 3_600_000

export interface LockSweepOptions {
  /** Removes nothing. */
  dryRun?: boolean
  /** Removes only what has not changed for this many milliseconds. */
  olderThanMs?: number
}

/**
 * Removes what dead waiters of a key have left, and its record if no session holds it and it has not changed
 * for a week; false if the record stays.
 * A key that is used again starts at the clock. So that no epoch and no fence comes again even if the clock
 * is set back, the time of the sweep is written first, and only keys that are behind it are removed.
 */
export function* sweepKey(
  register: Register,
  key: string,
  { dryRun = false, olderThanMs = 0 }: LockSweepOptions,
): Steps<unknown, boolean> {
  const entry = yield* register.read(key)
  const now = yield* register.now(key)
  const until = countableTime(now.wall)
  const observation = { now, liveness: livenessFor(register) }
  if (register.waiters !== undefined && !dryRun) yield* removeAbandoned(register.waiters, key, observation)
  if (entry.text !== undefined) {
    const record = parseClaimsRecord(entry.text, '')
    // A record that cannot be parsed may be a later version's, whose rules are unknown.
    if (record === undefined) return false
    if (record.claims.some((claim) => isInForce(claim, observation))) return false
    if (entry.epoch >= until || record.generation > generationAt(until)) return false
  }
  const writtenAt = (yield* register.writtenAt(key)) ?? now.wall
  if (now.wall - writtenAt < Math.max(unusedAfterMs, olderThanMs)) return false
  if (register.remove === undefined) return false
  if (dryRun) return true
  yield* raiseSweptUntil(register, until)
  return yield* register.remove(key, entry)
}

function* raiseSweptUntil(register: Register, until: number): Steps<unknown, void> {
  for (;;) {
    const before = yield* register.read(sweptUntilKey)
    if (Number(before.text) >= until) return
    if ((yield* register.swap(sweptUntilKey, before, String(until))) !== undefined) return
  }
}

/** Sweeps `$STINT_HOME/locks`. `HOME_UNSAFE` for anything but a directory of this user. */
export function sweepLocks(options: LockSweepOptions = {}): { path: string; removal: Removal }[] {
  const home = stintHome()
  const locks = join(home, 'locks')
  const names = withHomeErrors(home, 'list the locks', () => listOwn([home, locks]))
  if (!options.dryRun) sweepPrompts(home)
  if (!options.dryRun) sweepPasses(join(home, 'passes'))
  return names.flatMap((name) => {
    const path = join(locks, name)
    const stat = lstatSync(path, { throwIfNoEntry: false })
    if (stat === undefined || ownDirectoryProblem(stat) !== undefined) return []
    const removal = name.startsWith(stagedPrefix)
      ? sweepStaged(path, Date.now() - stat.mtimeMs, options)
      : sweepRecord(path, name, options)
    return removal === undefined ? [] : [{ path, removal }]
  })
}

/** The names in the last directory; none if one is missing. */
function listOwn(paths: readonly string[]): string[] {
  for (const path of paths) {
    const stat = lstatSync(path, { throwIfNoEntry: false })
    if (stat === undefined) return []
    const problem = ownDirectoryProblem(stat)
    if (problem !== undefined) throw homeUnsafe(path, problem)
  }
  return readdirSync(paths.at(-1) ?? '').sort()
}

function sweepStaged(path: string, ageMs: number, options: LockSweepOptions): Removal | undefined {
  const { dryRun = false, olderThanMs = 0 } = options
  if (ageMs < Math.max(stagedAfterMs, olderThanMs)) return undefined
  return dryRun ? { ...nothingRemoved(), ...measureTree(path) } : removeTree(path, { measure: true })
}

function sweepRecord(path: string, key: string, options: LockSweepOptions): Removal | undefined {
  if (!isWorkspaceKey(key)) return undefined
  const register = homeRegister() as Register
  try {
    const space = measureTree(path)
    const removed = options.dryRun ? 0 : readdirSync(path).length + 1
    if (!runSync(register, sweepKey(register, key, options))) return undefined
    const logFiles = options.dryRun ? 0 : removeActivityLog(dirname(dirname(path)), key)
    return { ...nothingRemoved(), ...space, removed: removed + logFiles }
  } catch (error) {
    // A key that cannot be read or removed must not stop the sweep of the others.
    return {
      ...nothingRemoved(),
      failures: [{ path, type: 'directory', error: errorCode(error) ?? String(error) }],
    }
  }
}
