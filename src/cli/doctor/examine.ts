import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import type { AllClaims } from '../../lease/all-claims.ts'
import { findWorkspace } from '../../lease/workspace.ts'
import { takeCensus } from '../../monitor/census.ts'
import { stintHome } from '../../primitives/home.ts'
import { ownIdentity } from '../../primitives/liveness.ts'
import { mountHolding } from '../../primitives/mounts.ts'
import { findTmp, rootOf } from '../../scratch/root.ts'
import { attempt } from '../health/attempt.ts'
import type { Check } from '../health/check.ts'
import { judgeHooks, lookAtHooks } from '../health/hooks.ts'
import { claimsIn, sessionsIn } from '../health/in-home.ts'
import { judgeLeases } from '../health/leases.ts'
import { judgeOrphans, orphansAmong } from '../health/orphans.ts'
import { filesPrefix, judgeSessions } from '../health/sessions.ts'
import { judgeSpace, readSpace } from '../health/space.ts'
import { storeOfEnvironment } from '../store.ts'
import { judgeClock, newestIn, setBackSince } from './clock.ts'
import { judgeDirectory, readDirectory } from './directory.ts'
import { judgeMount } from './mount.ts'
import type { Role } from './place.ts'
import { checkShell, checkStart, judgeIdentity, judgeNode } from './runtime.ts'
import { judgeTimer, readTimer } from './timer.ts'
import { nearestDirectory } from './trial-directory.ts'
import { tryHome, tryTemp } from './try-place.ts'

/** How long sizes may take. */
const measureWithinMs = 2000

type Looks = () => Check | readonly Check[] | Promise<Check | readonly Check[]>

/** Looks at one thing after another, each on its own: what cannot even be looked at is a finding, too. */
export async function* examineAll(): AsyncGenerator<Check> {
  const home = await attempt('home', () => stintHome())
  const tmp = await attempt('temp', () => findTmp())
  let claims: AllClaims = { subjects: [], unreadable: [] }

  yield judgeNode(process.versions.node)
  yield* look('start', () => checkStart())
  yield judgeIdentity(ownIdentity())
  yield checkShell()
  if ('check' in home) yield home.check
  else {
    const path = home.found
    yield* lookAtPlace('home', path)
    yield* look('leases', async () => {
      claims = await claimsIn(path)
      return judgeLeases(claims, (key) => join(path, 'locks', key))
    })
    const trial = await attempt('home files', () => tryHome(path))
    if ('check' in trial) yield trial.check
    else yield* trial.found.checks
    yield* look('clock', () =>
      judgeClock({
        now: Date.now(),
        fileTime: 'found' in trial ? trial.found.fileTime : undefined,
        newest: newestIn(path, ['locks', 'sessions', 'stats']),
        setBackMs: setBackSince(claims.subjects),
      }),
    )
    yield* look('sessions', async () =>
      judgeSessions(await sessionsIn(path), { prefix: filesPrefix(), onServer: false }),
    )
  }
  if ('check' in tmp) yield tmp.check
  else {
    yield* lookAtPlace('temp', rootOf(tmp.found).path)
    yield* look('temp files', tryTemp)
    yield* look('orphans', async () =>
      judgeOrphans(orphansAmong(await takeCensus(Date.now(), measureWithinMs))),
    )
  }
  yield* look('hooks', async () => judgeHooks(await lookAtHooks(findWorkspace().path, true)))
  yield* look('timer', () => judgeTimer(readTimer()))
  yield* look('postgres', lookAtPostgres)
}

async function* look(name: string, looks: Looks): AsyncGenerator<Check> {
  const attempted = await attempt(name, looks)
  if ('check' in attempted) yield attempted.check
  else yield* [attempted.found].flat()
}

async function* lookAtPlace(role: Role, path: string): AsyncGenerator<Check> {
  yield* look(role, () => judgeDirectory(role, readDirectory(path)))
  yield* look(`${role} mount`, () => judgeMount(role, mountHolding(realpathSync(nearestDirectory(path)))))
  yield* look(`${role} space`, () => judgeSpace(`${role} space`, readSpace(nearestDirectory(path))))
}

/** Only where one is meant to be used. */
async function lookAtPostgres(): Promise<readonly Check[]> {
  const url = storeOfEnvironment()
  if (url === undefined) return []
  const { checkPostgres } = await import('./postgres.ts')
  const { openPool } = await import('../postgres/open-pool.ts')
  return [await checkPostgres(openPool(url))]
}
