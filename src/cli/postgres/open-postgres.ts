import type { Register } from '../../lease/register.ts'
import { postgresRegister } from '../../postgres/register.ts'
import { openPool } from './open-pool.ts'

/** The register on a server. Loaded only where one is named. */
export const openPostgres = (url: string): Register => postgresRegister({ pool: openPool(url) })
