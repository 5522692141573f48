import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import { type AllClaims, findWorkspace } from '../../lease/index.ts'
import { inspectTimer, measureEntries } from '../../sweep/index.ts'
import { stintHome } from '../../base/fs/home.ts'
import { ownIdentity } from '../../base/process/liveness.ts'
import { mountHolding } from '../../base/fs/mounts.ts'
import { findTmp, rootOf } from '../../scratch/index.ts'
import { attempt } from '../health/try-check.ts'
import type { Check } from '../health/check.ts'
import { judgeDirectory, readDirectory } from '../health/directory.ts'
import { checkHome } from '../health/home.ts'
import { judgeHooks, lookAtHooks } from '../health/hooks.ts'
import { listSessionsIn } from '../../session/index.ts'
import { claimsIn } from '../health/in-home.ts'
import { judgeLeases } from '../health/leases.ts'
import { judgeOrphans, orphansAmong } from '../health/orphans.ts'
import type { Role } from '../health/directory-role.ts'
import { filesPrefix, judgeSessions } from '../health/sessions.ts'
import { judgeSpace, readSpace } from '../health/space.ts'
import { storeOfEnvironment } from '../store.ts'
import { judgeClock, newestIn, setBackSince } from './clock.ts'
import { judgeMount } from './mount.ts'
import { checkShell, checkStart, judgeIdentity, judgeNode } from './runtime.ts'
import { judgeTimer } from './timer.ts'
import { nearestDirectory } from './trial-directory.ts'
import { tryHome, tryTemp } from './try-place.ts'

/** How long sizes may take. */
const measureWithinMs = 2000

type Looks = () => Check | readonly Check[] | Promise<Check | readonly Check[]>

/** Looks at one thing after another, each on its own: what cannot even be looked at is a finding, too. */
export async function* examineAll(): AsyncGenerator<Check> {
  const home = await attempt('home', () => stintHome())
  const tmp = await attempt('temp', () => findTmp())
  yield judgeNode(process.versions.node)
  yield* look('start', () => checkStart())
  yield judgeIdentity(ownIdentity())
  yield checkShell()
  if ('check' in home) yield home.check
  else yield* examineHome(home.found)
  if ('check' in tmp) yield tmp.check
  else {
    yield* lookAtPlace('temp', rootOf(tmp.found).path)
    yield* look('temp files', tryTemp)
    yield* look('orphans', async () =>
      judgeOrphans(orphansAmong(await measureEntries(Date.now(), measureWithinMs))),
    )
  }
  yield* look('hooks', async () => judgeHooks(await lookAtHooks(findWorkspace().path, true)))
  yield* look('timer', async () => judgeTimer(await inspectTimer()))
  yield* look('postgres', lookAtPostgres)
}

async function* examineHome(home: string): AsyncGenerator<Check> {
  let claims: AllClaims = { targets: [], unreadable: [] }
  const works = yield* lookAtPlace('home', home)
  const lookInHome = (name: string, looks: Looks) => look(name, looks, works)
  yield* lookInHome('leases', async () => {
    claims = await claimsIn(home)
    return judgeLeases(claims, (key) => join(home, 'locks', key))
  })
  let fileTime: number | undefined
  yield* lookInHome('home files', async () => {
    const trial = await tryHome(home)
    fileTime = trial.fileTime
    return trial.checks
  })
  yield* lookInHome('clock', () =>
    judgeClock({
      now: Date.now(),
      fileTime,
      newest: newestIn(home, ['locks', 'sessions', 'stats']),
      setBackMs: setBackSince(claims.targets),
    }),
  )
  yield* lookInHome('sessions', async () =>
    judgeSessions(await listSessionsIn(home), { prefix: filesPrefix(), onServer: false }),
  )
}

/** `say`: is it a finding if it cannot be looked at? */
async function* look(name: string, looks: Looks, say = true): AsyncGenerator<Check> {
  const attempted = await attempt(name, looks)
  if ('check' in attempted) yield* say ? [attempted.check] : []
  else yield* [attempted.found].flat()
}

/** Does it work? What cannot be looked at in one that does not is no finding of its own. */
async function* lookAtPlace(role: Role, path: string): AsyncGenerator<Check, boolean> {
  let works = true
  for await (const check of look(role, () => checkPlace(role, path))) {
    works = check.level !== 'fail'
    yield check
  }
  const lookFurther = (name: string, looks: Looks) => look(`${role} ${name}`, looks, works)
  yield* lookFurther('mount', () => judgeMount(role, mountHolding(realpathSync(nearestDirectory(path)))))
  yield* lookFurther('space', () => judgeSpace(`${role} space`, readSpace(nearestDirectory(path))))
  return works
}

const checkPlace = (role: Role, path: string): Check =>
  role === 'home' ? checkHome(path) : judgeDirectory(role, readDirectory(path))

/** Only where one is meant to be used. */
async function lookAtPostgres(): Promise<readonly Check[]> {
  const url = storeOfEnvironment()
  if (url === undefined) return []
  const { checkPostgres } = await import('./postgres.ts')
  const { openPool } = await import('../postgres/open-pool.ts')
  return [await checkPostgres(openPool(url))]
}
