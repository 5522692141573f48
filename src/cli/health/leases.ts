import { type AllClaims, isInForce } from '../../lease/index.ts'
import { visibleText } from '../../base/text/escape.ts'
import { plural } from '../text/format.ts'
import { bad, type Check, fine, poor } from './check.ts'

/** Claims that nobody can count on any more, and records that make no sense. `where`: how to find those. */
export function judgeLeases({ targets, unreadable }: AllClaims, where: (key: string) => string): Check {
  const [broken] = unreadable
  if (broken !== undefined)
    return bad(
      'leases',
      `${plural(unreadable.length, 'record')} cannot be read: ${broken.key} (${visibleText(broken.reason)})`,
      `Make sure that you can read ${visibleText(where(broken.key), 2000)}. A record of a later version ends by itself.`,
    )
  const claims = targets.flatMap(({ claims, observation }) =>
    claims.map((claim) => isInForce(claim, observation)),
  )
  const stale = claims.filter((standing) => !standing).length
  const text = `${plural(claims.length - stale, 'claim')} held`
  if (stale === 0) return fine('leases', text)
  return poor(
    'leases',
    `${text}, ${stale} left by sessions that are dead or have been silent for too long`,
    'Nothing to do: the next session that asks gets them.',
  )
}
