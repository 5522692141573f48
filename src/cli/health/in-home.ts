import { join } from 'node:path'
import { type AllClaims, allClaims, homeRegister } from '../../lease/index.ts'
import { nodeDisk } from '../../base/fs/disk.ts'
import { hasEntries } from '../../base/fs/exists.ts'
import type { SessionSummary } from '../../session/store.ts'

/** All claims in a home. Where there are none, what reads them is not loaded. */
export const claimsIn = async (home: string): Promise<AllClaims> =>
  hasEntries(join(home, 'locks')) ? await allClaims(homeRegister()) : { targets: [], unreadable: [] }

/** All sessions in a home, in the same way. */
export async function sessionsIn(home: string): Promise<SessionSummary[]> {
  const directory = join(home, 'sessions')
  if (!hasEntries(directory)) return []
  const { listSessions } = await import('../../session/files/index/list-sessions.ts')
  return listSessions(nodeDisk, directory)
}
