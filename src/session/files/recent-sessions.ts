import { readdirSync, renameSync, unlinkSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { errorCode } from '../../base/errors/stint-error.ts'
import { ifPossible } from '../../base/errors/if-possible.ts'
import { ensureOwnDirectory, createPrivateFile } from '../../base/fs/private-file.ts'
import { isSessionId } from '../../base/text/id.ts'
import { beatMs } from '../holder.ts'

/**
 * When a session was last active, for lists. It is the name of an empty file in `sessions/.recent/`:
 * `<id>@<ms>` for a session that was closed, `<id>@<ms>+` while a process holds it. So one directory listing
 * orders all sessions. Nothing is synced: a session whose name is missing is read by every list.
 */
export interface Activity {
  /** In milliseconds since the epoch: the last record, or the last heartbeat of a holder. */
  at: number
  isHeld: boolean
}

/**
 * The last record of a holder follows its last heartbeat by at most one interval, unless its timer is late.
 */
const maxUnseenMs = 2 * beatMs

/** The latest time that the last record of a session can have. */
export const latestOf = ({ at, isHeld }: Activity): number => (isHeld ? at + maxUnseenMs : at)

/** Renames the file of the session in a directory; makes it if it is missing. */
export function noteActivity(root: string, before: Activity | undefined, now: Activity): void {
  // A session that is being staged, or is in the trash, is in no list.
  if (!isSessionId(basename(root)) || basename(dirname(root)) !== 'sessions') return
  const path = pathOf(root, now)
  try {
    if (before !== undefined && renameIfThere(pathOf(root, before), path)) return
    if (ensureOwnDirectory(dirname(path)) === undefined) createPrivateFile(path, '')
  } catch (error) {
    // Lists would believe the old name. Without it, they read the session.
    if (errorCode(error) !== 'EEXIST' && before !== undefined) forgetActivity(root, before)
  }
}

/** Removes the file of a session that goes to the trash. This works on a full disk, too. */
export function forgetActivity(root: string, activity: Activity): void {
  ifPossible(() => unlinkSync(pathOf(root, activity)))
}

/** The last activity of each session that has a file. */
export function readActivities(sessions: string): Map<string, Activity> {
  const activities = new Map<string, Activity>()
  for (const name of ifPossible(() => readdirSync(join(sessions, directoryName))) ?? []) {
    const [, id = '', digits = '', held] = /^([^@]+)@(\d{1,15})(\+?)$/.exec(name) ?? []
    const activity = { at: Number(digits), isHeld: held === '+' }
    // A power cut, or two processes at once, may leave several: the latest one counts.
    const other = activities.get(id)
    if (id !== '' && (other === undefined || latestOf(other) < latestOf(activity)))
      activities.set(id, activity)
  }
  return activities
}

const directoryName = '.recent'

const pathOf = (root: string, { at, isHeld }: Activity): string =>
  join(dirname(root), directoryName, `${basename(root)}@${at}${isHeld ? '+' : ''}`)

function renameIfThere(from: string, to: string): boolean {
  try {
    renameSync(from, to)
    return true
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false
    throw error
  }
}
