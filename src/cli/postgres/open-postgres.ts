import type { Register } from '../../lease/index.ts'
import { postgresRegister } from '../../postgres/register.ts'
import { PostgresDriver } from '../../postgres/store/driver.ts'
import { damageHint } from '../../postgres/store/recover.ts'
import { createStore } from '../../session/create-store.ts'
import type { OpenSessions } from '../sessions/open-sessions.ts'
import { openPool } from './open-pool.ts'

/** The register on a server. Loaded only where one is named. */
export const openPostgresRegister = (url: string): Register =>
  postgresRegister({ pool: openPool(url) }) as Register

/** The sessions on a server. */
export function openPostgresSessions(url: string): OpenSessions {
  const driver = new PostgresDriver({ pool: openPool(url) })
  return {
    store: createStore(driver),
    ids: (beginning) => driver.ids(beginning ?? ''),
    assertThere: async (id) => void (await driver.holder(id)),
    beside: async (id) => ({ path: null, spooled: (await driver.spooled(id)).length, quarantined: [] }),
    damageHint,
    noteDamage: (id, what) => driver.noteDamage(id, what),
    trash: null,
    pack: (id) => driver.transfer.read(id),
    unpack: (parcel, id) => driver.transfer.write(parcel, id),
  }
}
