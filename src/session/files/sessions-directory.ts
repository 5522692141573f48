import { dirname, join } from 'node:path'
import type { Disk } from '../../base/fs/disk.ts'
import { ensureHomeDirectory } from '../../base/fs/home.ts'

/** Where all sessions lie. */
export const sessionsDirectoryIn = (home: string): string => join(home, 'sessions')

/** Makes the directory of all sessions, or checks what is there. */
export function ensureSessions(home: string): string {
  const sessions = sessionsDirectoryIn(home)
  for (const path of [home, sessions]) ensureHomeDirectory(path)
  return sessions
}

/** Puts its name and that of the home on disk: until they are, nothing in them is. */
export function syncSessionsName(disk: Disk, home: string): void {
  disk.syncDirectory(home)
  try {
    disk.syncDirectory(dirname(home))
  } catch {
    // It is not ours, and may not be readable.
  }
}
