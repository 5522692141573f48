import type { LeaseStore } from '../../lease/index.ts'
import { postgresLeases } from '../leases.ts'
import { PostgresMedium } from '../store/medium.ts'
import { type BuiltInStore, createStore } from '../../session/index.ts'
import { openPool } from './open-pool.ts'

/** Opens the leases on a server. This file is loaded only where a server is named. */
export const openPostgresLeases = (url: string): LeaseStore => postgresLeases({ pool: openPool(url) })

/** Opens the sessions on a server. */
export const openPostgresStore = (url: string): BuiltInStore =>
  createStore(new PostgresMedium({ pool: openPool(url) }))
