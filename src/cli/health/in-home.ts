import { join } from 'node:path'
import { type AllClaims, allClaims, homeRegister } from '../../lease/index.ts'
import { hasEntries } from '../../base/fs/exists.ts'

/** All claims in a home. Where there are none, what reads them is not loaded. */
export const claimsIn = async (home: string): Promise<AllClaims> =>
  hasEntries(join(home, 'locks')) ? await allClaims(homeRegister()) : { targets: [], unreadable: [] }
