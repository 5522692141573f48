import { lstatSync, readdirSync, statSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { errorCode } from '../base/errors/stint-error.ts'
import { homeUnsafe, stintHome, withHomeErrors } from '../base/fs/home.ts'
import { ownDirectoryProblem } from '../base/fs/private-file.ts'
import { nothingRemoved, type Removal } from '../base/fs/remove-tree.ts'
import type { Claim } from './claim.ts'
import { homeStore, isStagedEpoch } from './file-register.ts'
import { claimLiveness, isInForce, type Observation } from './force.ts'
import type { LeaseStore } from './register.ts'
import { WorkspaceClaims } from './workspace-claims.ts'
import { isWorkspaceKey } from './workspace.ts'

/** A file that a swap has staged, and never removed, goes after a day. */
const stagedAfterMs = 24 * 3_600_000

/** A claim that is over, and that no living process could still renew. */
const isOver = (claim: Claim, observation: Observation): boolean =>
  !isInForce(claim, observation) && claimLiveness(claim, observation) !== 'alive'

/**
 * Removes the claims of a key that are over, and the entries of its dead waiters; returns how many claims.
 * The key stays: a writer that was suspended could otherwise win beside a new one.
 */
export async function sweepKey(store: LeaseStore, key: string, { dryRun = false } = {}): Promise<number> {
  const claims = await WorkspaceClaims.ofKey(store, key)
  if (claims === undefined) return 0
  const { answer, observation } = await claims.change((before, observed) => {
    const kept = before.claims.filter((claim) => !isOver(claim, observed))
    const next = { ...before, claims: kept }
    const ended = before.claims.length - kept.length
    return ended === 0 || dryRun ? { answer: ended } : { next, answer: ended }
  })
  if (!dryRun) await claims.waiters({ observation })
  return answer
}

/**
 * Sweeps `$STINT_HOME/locks`; `olderThanMs` spares younger staged files. `HOME_UNSAFE` for anything but a
 * directory of this user.
 */
export async function sweepLocks(
  options: { dryRun?: boolean; olderThanMs?: number } = {},
): Promise<{ path: string; removal: Removal }[]> {
  const home = stintHome()
  const locks = join(home, 'locks')
  const keys = withHomeErrors(home, 'list the locks', () => listOwn([home, locks])).filter(isWorkspaceKey)
  const removals: { path: string; removal: Removal }[] = []
  for (const key of keys) {
    const path = join(locks, key)
    const stat = lstatSync(path, { throwIfNoEntry: false })
    if (stat === undefined || ownDirectoryProblem(stat) !== undefined) continue
    try {
      const removed = (await sweepKey(homeStore(), key, options)) + sweepStaged(path, options)
      if (removed > 0) removals.push({ path, removal: { ...nothingRemoved(), removed } })
    } catch (error) {
      // A key that cannot be read or changed must not stop the sweep of the others.
      const failure = { path, type: 'directory' as const, error: errorCode(error) ?? String(error) }
      removals.push({ path, removal: { ...nothingRemoved(), failures: [failure] } })
    }
  }
  return removals
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

function sweepStaged(path: string, { dryRun = false, olderThanMs = 0 }): number {
  const ageMs = Math.max(stagedAfterMs, olderThanMs)
  const files = readdirSync(path)
    .map((name) => join(path, name))
    .filter((file) => isStagedEpoch(file) && Date.now() - statSync(file).mtimeMs >= ageMs)
  if (!dryRun) files.forEach((file) => unlinkSync(file))
  return files.length
}
