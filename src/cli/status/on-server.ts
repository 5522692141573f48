import { type AllClaims, allClaims } from '../../lease/index.ts'
import type { SessionSummary } from '../../session/index.ts'
import { askServer } from '../health/ask-server.ts'

export interface OnServer extends AllClaims {
  sessions: SessionSummary[]
}

/** What a team keeps on its PostgreSQL server. */
export async function lookAtServer(url: string): Promise<OnServer> {
  const { openPostgresRegister, openPostgresStore } = await import('../postgres/open-postgres.ts')
  const register = openPostgresRegister(url)
  const store = openPostgresStore(url)
  return askServer(async () => ({ ...(await allClaims(register)), sessions: await store.list() }))
}
