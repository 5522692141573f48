import { type AllClaims, allClaims } from '../../lease/all-claims.ts'
import type { Register } from '../../lease/register.ts'
import type { SessionStore, SessionSummary } from '../../store/store.ts'
import { askServer } from '../health/ask-server.ts'

export interface OnServer extends AllClaims {
  sessions: SessionSummary[]
}

/** Whoever looks again and again does not connect again and again. */
const opened = new Map<string, { register: Register; store: SessionStore }>()

/** What a team keeps on its PostgreSQL server. */
export async function lookAtServer(url: string): Promise<OnServer> {
  const { openPostgres, openPostgresSessions } = await import('../postgres/open-postgres.ts')
  const { register, store } = opened.get(url) ?? {
    register: openPostgres(url),
    store: openPostgresSessions(url).store,
  }
  opened.set(url, { register, store })
  return askServer(async () => ({ ...(await allClaims(register)), sessions: await store.list() }))
}
