import { join } from 'node:path'
import { findWorkspace } from '../../lease/index.ts'
import { type MeasuredEntry, measureEntries } from '../../sweep/index.ts'
import { stintHome } from '../../base/fs/home.ts'
import { findRoot, findTmp } from '../../scratch/index.ts'
import { listSessionsIn, type SessionSummary } from '../../session/index.ts'
import { attempt } from '../health/try-check.ts'
import { type Check, isFinding } from '../health/check.ts'
import { checkHome } from '../health/home.ts'
import { judgeHooks, lookAtHooks } from '../health/hooks.ts'
import { claimsIn } from '../health/in-home.ts'
import { judgeLeases } from '../health/leases.ts'
import { judgeOrphans, orphansAmong } from '../health/orphans.ts'
import { countStates, filesPrefix, judgeSessions } from '../health/sessions.ts'
import { judgeSpace, readSpace } from '../health/space.ts'
import { describeSession } from '../sessions/describe.ts'
import { storeOfEnvironment } from '../store.ts'
import { describeRun, describeWorkspace } from './describe.ts'
import type { OnServer } from './on-server.ts'

/** How long sizes may take: what is larger than can be counted in this time is large enough. */
const measureWithinMs = 500
/** So many sessions that are not at rest, the newest, are named. */
const namedSessions = 100

/** What `stint status` answers. */
export type StatusData = Awaited<ReturnType<typeof gatherStatus>>

/** Looks at everything; what is wrong with one part is found and said, and the rest is there all the same. */
export async function gatherStatus() {
  const at = Date.now()
  const findings: Check[] = []
  const look = async <Found>(
    name: string,
    find: () => Found | Promise<Found>,
    say = true,
  ): Promise<Found | undefined> => {
    const attempted = await attempt(name, find)
    if ('found' in attempted) return attempted.found
    if (say) findings.push(attempted.check)
    return undefined
  }
  const home = await look('home', () => stintHome())
  if (home !== undefined) findings.push(...((await look('home', () => onlyFailure(checkHome(home)))) ?? []))
  // What cannot be looked at in a home that does not work is no finding of its own.
  const homeWorks = findings.length === 0
  const lookInHome = async <Found>(
    name: string,
    find: (home: string) => Found | Promise<Found>,
  ): Promise<Found | undefined> =>
    home === undefined ? undefined : await look(name, () => find(home), homeWorks)
  const tmp = await look('temp directory', () => findTmp())
  const root =
    tmp === undefined ? undefined : await look('temp directory', () => ({ path: findRoot()?.path }))
  const claims = await lookInHome('leases', claimsIn)
  const sessions = (await lookInHome('sessions', listSessionsIn)) ?? []
  const server = await look('store', onServer)
  const entries = (root && (await look('runs', () => measureEntries(at, measureWithinMs)))) ?? []
  const homeSpace = await lookInHome('home disk', (path) => spaceOf('home', path))
  const tempSpace = tmp === undefined ? undefined : await look('temp disk', () => spaceOf('temp', tmp))
  const hooks = await look('hooks', () => lookAtHooks(findWorkspace().path))

  const disk = [homeSpace, tempSpace].filter((space) => space !== undefined)
  const orphans = orphansAmong(entries)
  const all = [...sessions, ...(server?.sessions ?? [])].sort(newestFirst)
  findings.push(
    ...disk.map((space) => judgeSpace(`${space.name} disk`, space)),
    ...(claims ? [judgeLeases(claims, (key) => join(home ?? '', 'locks', key))] : []),
    ...(server ? [judgeLeases(server, (key) => `the row ${key} of stint.register`)] : []),
    ...judgeSessions(sessions, { prefix: filesPrefix(), onServer: false }),
    ...judgeSessions(server?.sessions ?? [], { prefix: '', onServer: true }),
    judgeOrphans(orphans),
    ...(hooks ? judgeHooks(hooks) : []),
  )
  return {
    at,
    home: home ?? null,
    root: root?.path ?? null,
    workspaces: [
      ...(claims?.targets ?? []).map((target) => describeWorkspace(target, 'files')),
      ...(server?.targets ?? []).map((target) => describeWorkspace(target, 'postgres')),
    ],
    runs: entries.filter(isRun).map(describeRun),
    sessions: {
      total: all.length,
      states: countStates(all),
      open: all
        .filter(({ state }) => state !== 'closed')
        .slice(0, namedSessions)
        .map(describeSession),
    },
    orphans,
    disk,
    hooks: (hooks?.hooks ?? []).map(({ agent, place, path, state }) => ({ agent, place, path, state })),
    without_hooks: hooks?.without ?? [],
    findings: findings.filter(isFinding),
  }
}

/** Somebody works in it, or may: in another container nobody here can tell. */
const isRun = ({ kind, reason }: MeasuredEntry): boolean =>
  kind === 'scratch' && ['owner-alive', 'child-alive', 'owner-unknown'].includes(reason)

/** What could merely be better, the doctor says. */
const onlyFailure = (check: Check): Check[] => (check.level === 'fail' ? [check] : [])

const newestFirst = (a: SessionSummary, b: SessionSummary): number =>
  b.lastAt - a.lastAt || (a.id < b.id ? -1 : 1)

const spaceOf = (name: 'home' | 'temp', path: string) => ({ name, ...readSpace(path) })

/** Undefined where everything is in files. Hooks keep their claims there in any case: so both are looked at. */
async function onServer(): Promise<OnServer | undefined> {
  const url = storeOfEnvironment()
  return url === undefined ? undefined : (await import('./on-server.ts')).lookAtServer(url)
}
