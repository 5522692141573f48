import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { ownDirectoryProblem } from '../../primitives/own-directory.ts'
import { pidExists } from '../../primitives/platform.ts'
import { removeTree } from '../../primitives/remove-tree.ts'
import { stagedBy } from './stage.ts'

const minute = 60_000
const hour = 60 * minute

/** A session that somebody began to make and did not: gone when its maker is, or after an hour. */
export function removeAbandoned(sessions: string, name: string, now: number): void {
  const pid = stagedBy(name)
  if (pid === undefined) return
  const path = join(sessions, name)
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (stat === undefined || ownDirectoryProblem(stat) !== undefined) return
  if (isAbandoned(now - stat.mtimeMs, pidExists(pid))) removeTree(path, { inode: stat.ino })
}

/** A process with this pid may be another one; and where none can be seen, it may live in another process table: to make a session takes a moment. */
export const isAbandoned = (ageMs: number, makerIsThere: boolean): boolean =>
  ageMs > hour || (!makerIsThere && ageMs > minute)
