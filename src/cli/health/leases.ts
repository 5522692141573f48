import { join } from 'node:path'
import { hasEntries } from '../../base/fs/exists.ts'
import { visibleText } from '../../base/text/escape.ts'
import { type AllClaims, allClaims, homeStore } from '../../lease/index.ts'
import { plural } from '../text/format.ts'
import { type Check, fail, ok } from './check.ts'

/** Reads all claims in a home. */
export const claimsIn = async (home: string): Promise<AllClaims> =>
  hasEntries(join(home, 'locks')) ? await allClaims(homeStore()) : { targets: [], unreadable: [] }

/** Judges the leases of a home. */
export const judgeHomeLeases = (claims: AllClaims, home: string): Check =>
  judgeLeases(claims, (key) => join(home, 'locks', key))

/** Counts the claims, and looks for unreadable records. `locate` names the place of a record for the user. */
export function judgeLeases({ targets, unreadable }: AllClaims, locate: (key: string) => string): Check {
  const [broken] = unreadable
  if (broken !== undefined)
    return fail(
      'leases',
      `${plural(unreadable.length, 'record')} cannot be read: ${broken.key} (${visibleText(broken.reason)})`,
      `Make sure that you can read ${visibleText(locate(broken.key))}. A damaged record ends by itself.`,
    )
  return ok('leases', `${plural(targets.flatMap(({ claims }) => claims).length, 'claim')} held`)
}
