import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { ownDirectoryProblem } from '../../base/fs/own-directory.ts'
import { pidExists } from '../../base/process/platform.ts'
import { removeTree } from '../../base/fs/remove-tree.ts'
import { stagedBy } from './staged-session.ts'

const minute = 60_000
const day = 24 * 60 * minute

/** Removes a session that somebody began to make and did not finish: when its maker is gone, or after a day. */
export function removeAbandoned(sessions: string, name: string, now: number): void {
  const pid = stagedBy(name)
  if (pid === undefined) return
  const path = join(sessions, name)
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (stat === undefined || ownDirectoryProblem(stat) !== undefined) return
  if (isAbandoned(now - stat.mtimeMs, pidExists(pid))) removeTree(path, { inode: stat.ino })
}

/** A large import takes long. But a process with the maker's pid may be another one; and where none can be seen, the maker may live in another process table. */
export const isAbandoned = (ageMs: number, makerIsThere: boolean): boolean =>
  ageMs > day || (!makerIsThere && ageMs > minute)
