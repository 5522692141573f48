import type { Register } from '../../lease/index.ts'
import { postgresRegister } from '../register.ts'
import { PostgresMedium } from '../store/medium.ts'
import { type BuiltInStore, createStore } from '../../session/index.ts'
import { openPool } from './open-pool.ts'

/** Opens the register on a server. This file is loaded only where a server is named. */
export const openPostgresRegister = (url: string): Register =>
  postgresRegister({ pool: openPool(url) }) as Register

/** Opens the sessions on a server. */
export const openPostgresStore = (url: string): BuiltInStore =>
  createStore(new PostgresMedium({ pool: openPool(url) }))
