import { bad, type Check, fine, poor } from '../health/check.ts'
import type { Ability, FileTrial } from './file-trial.ts'
import type { ListingTrial } from './listing-trial.ts'
import { type Role, variableOf } from '../health/directory-role.ts'

const meanings: Readonly<Record<Ability, string>> = {
  create: 'files cannot be made there',
  modes: 'files there cannot be made private',
  rename: 'files there cannot be replaced in one step',
  symlink: 'there are no symbolic links, which leases are made of',
  link: 'there are no hard links: a fork copies what it could share',
  sync: 'nothing there can be made durable',
}

/** Without these nothing works; of the others some is lost. */
const needed: Readonly<Record<Role, readonly Ability[]>> = {
  home: ['create', 'rename', 'symlink', 'sync'],
  temp: ['create', 'rename'],
}
const wanted: Readonly<Record<Role, readonly Ability[]>> = { home: ['modes', 'link'], temp: ['modes'] }

export function judgeFiles(role: Role, trial: FileTrial): Check {
  const name = `${role} files`
  const fix = fixOf(role, Object.values(trial))
  const say = (ability: Ability): string => `${meanings[ability]} (${trial[ability]})`
  const missing = needed[role].find((ability) => trial[ability] !== undefined)
  if (missing !== undefined) return bad(name, say(missing), fix)
  const poorer = wanted[role].find((ability) => trial[ability] !== undefined)
  if (poorer !== undefined) return poor(name, say(poorer), fix)
  return fine(name, `${[...needed[role], ...wanted[role]].join(', ')}: tried, all work`)
}

function fixOf(role: Role, problems: readonly string[]): string {
  const elsewhere = `Set ${variableOf[role]} to a directory of yours on a local disk.`
  if (problems.some((problem) => ['ENOSPC', 'EDQUOT'].includes(problem)))
    return 'Free some space there; `stint sweep` removes what dead runs left.'
  return elsewhere
}

export function judgeListing({ listings, changes, old }: ListingTrial): Check {
  const name = 'home listing'
  const fix =
    'Set STINT_HOME to a directory on a local disk: a lease is safe only where a listing is never old.'
  if (old > 0) return bad(name, `${old} of ${listings} listings were older than the one before`, fix)
  if (changes === 0) return poor(name, 'what another thread wrote did not become visible for seconds', fix)
  return fine(name, `${listings} listings during writes: none was older than the one before`)
}
