import { join } from 'node:path'
import { type AllClaims, allClaims } from '../../lease/all-claims.ts'
import { homeRegister } from '../../lease/lock-home.ts'
import type { Register } from '../../lease/register.ts'
import { nodeDisk } from '../../primitives/disk.ts'
import { hasEntries } from '../../primitives/has-entries.ts'
import type { SessionSummary } from '../../store/store.ts'

/** All claims in a home. Where there are none, what reads them is not loaded. */
export const claimsIn = async (home: string): Promise<AllClaims> =>
  hasEntries(join(home, 'locks'))
    ? await allClaims(homeRegister() as Register)
    : { subjects: [], unreadable: [] }

/** All sessions in a home, in the same way. */
export async function sessionsIn(home: string): Promise<SessionSummary[]> {
  const directory = join(home, 'sessions')
  if (!hasEntries(directory)) return []
  const { listSessions } = await import('../../store/filesystem/index/list-sessions.ts')
  return listSessions(nodeDisk, directory)
}
