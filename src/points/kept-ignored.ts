import { lstatSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ifPossible } from '../base/errors/if-possible.ts'
import { replaceFile } from '../base/fs/atomic-file.ts'
import { stintHome } from '../base/fs/home.ts'
import { bytePath, latin1Of } from '../base/fs/paths.ts'
import { makePrivateDirectories } from '../base/fs/private-file.ts'
import { readSmallFile } from '../base/fs/regular-file.ts'
import { splitNul } from './git.ts'
import type { PointStore } from './store.ts'

/** Larger ignored files are not kept, whatever their name is. */
const maxIgnoredBytes = 1 << 20

/** The file with the patterns, one a line. */
export const keptIgnoredFile = (): string => join(stintHome(), 'points/keep-ignored')

/** The patterns of ignored files that points keep all the same, such as `.env*`. */
export const readKeptIgnored = (): string[] =>
  (readSmallFile(keptIgnoredFile()) ?? '').split('\n').filter((pattern) => pattern !== '')

/** Sets the patterns for all worktrees, from the next point on. They contain no line break. */
export function setKeptIgnored(patterns: readonly string[]): void {
  makePrivateDirectories(dirname(keptIgnoredFile()))
  if (patterns.length === 0) rmSync(keptIgnoredFile(), { force: true })
  else replaceFile(keptIgnoredFile(), patterns.map((pattern) => `${pattern}\n`).join(''))
}

/**
 * Finds ignored files that the user wants to be kept and the index does not have yet, in Latin-1. Directories
 * that are ignored as a whole, such as `node_modules`, are not entered.
 */
export async function findKeptIgnored(store: PointStore): Promise<string[]> {
  const patterns = readKeptIgnored().map((pattern) => `:(glob)**/${pattern.replace(/^\//, '')}`)
  if (patterns.length === 0) return []
  const args = ['ls-files', '-z', '--others', '--ignored', '--exclude-standard', '--directory', '--']
  const output = await store.git([...args, ...patterns], { env: { GIT_LITERAL_PATHSPECS: '0' } })
  const root = latin1Of(store.root)
  return splitNul(output).filter((path) => {
    const stat = ifPossible(() => lstatSync(bytePath(`${root}/${path}`)))
    return stat?.isFile() && stat.size <= maxIgnoredBytes
  })
}
