import { join } from 'node:path'
import { allClaims, type ClaimedSubject } from '../../lease/all-claims.ts'
import { homeRegister } from '../../lease/lock-home.ts'
import type { Register } from '../../lease/register.ts'
import { findWorkspace } from '../../lease/workspace.ts'
import { takeCensus } from '../../monitor/census.ts'
import type { MeasuredEntry } from '../../monitor/entry.ts'
import { nodeDisk } from '../../primitives/disk.ts'
import { hasEntries } from '../../primitives/has-entries.ts'
import { stintHome } from '../../primitives/home.ts'
import { findRoot, findTmp } from '../../scratch/root.ts'
import type { SessionSummary } from '../../store/store.ts'
import { attempt, type Attempt } from '../health/attempt.ts'
import { type Check, isFinding } from '../health/check.ts'
import { judgeHooks, lookAtHooks } from '../health/hooks.ts'
import { judgeLeases } from '../health/leases.ts'
import { judgeOrphans, orphansAmong } from '../health/orphans.ts'
import { countStates, judgeSessions } from '../health/sessions.ts'
import { judgeSpace, readSpace } from '../health/space.ts'
import { describeSession } from '../sessions/describe.ts'
import { openRegister, readStore } from '../store.ts'
import { describeRun, describeWorkspace } from './describe.ts'

/** How long sizes may take: what is larger than can be counted in this time is large enough. */
const measureWithinMs = 500
/** So many sessions that are not at rest, the newest, are named. */
const namedSessions = 100

/** What `stint status` answers. */
export type StatusData = Awaited<ReturnType<typeof gatherStatus>>

/** Looks at everything; what is wrong with one part is found and said, and the rest is there all the same. */
export async function gatherStatus(warn: (message: string) => void) {
  const now = Date.now()
  const findings: Check[] = []
  const take = <Found>(attempted: Attempt<Found>): Found | undefined => {
    if ('found' in attempted) return attempted.found
    findings.push(attempted.check)
    return undefined
  }
  const home = take(await attempt('home', () => stintHome()))
  const root = take(
    await attempt('temp directory', () => ({ tmp: findTmp(), path: findRoot()?.path ?? null })),
  )
  const leases = await gatherLeases(home, take, warn)
  const entries =
    root === undefined ? [] : (take(await attempt('runs', () => takeCensus(now, measureWithinMs))) ?? [])
  const sessions = home === undefined ? [] : (take(await attempt('sessions', () => sessionsIn(home))) ?? [])
  const disk = [
    ...(home === undefined ? [] : [take(await attempt('home', () => spaceOf('home', home)))]),
    ...(root === undefined ? [] : [take(await attempt('temp directory', () => spaceOf('temp', root.tmp)))]),
  ].filter((space) => space !== undefined)
  const hooks = take(await attempt('hooks', () => lookAtHooks(findWorkspace().path))) ?? {
    hooks: [],
    without: [],
  }
  const orphans = orphansAmong(entries)
  findings.push(
    ...disk.map((space) => judgeSpace(`${space.name} disk`, space)),
    judgeLeases(leases.subjects, leases.unreadable, (key) => join(home ?? '', 'locks', key)),
    ...judgeSessions(sessions),
    judgeOrphans(orphans),
    ...judgeHooks(hooks),
  )
  return {
    at: now,
    home: home ?? null,
    root: root?.path ?? null,
    workspaces: leases.subjects.map(describeWorkspace),
    runs: entries.filter(isRun).map(describeRun),
    sessions: {
      total: sessions.length,
      states: countStates(sessions),
      open: sessions
        .filter(({ state }) => state !== 'closed')
        .slice(0, namedSessions)
        .map(describeSession),
    },
    orphans,
    disk,
    hooks: hooks.hooks.map(({ agent, place, path, state }) => ({ agent, place, path, state })),
    without_hooks: hooks.without,
    findings: findings.filter(isFinding),
  }
}

/** Somebody works in it, or may: in another container nobody here can tell. */
const isRun = ({ kind, reason }: MeasuredEntry): boolean =>
  kind === 'scratch' && ['owner-alive', 'child-alive', 'owner-unknown'].includes(reason)

/** Newest first. What reads them is loaded only where there are some. */
async function sessionsIn(home: string): Promise<SessionSummary[]> {
  const directory = join(home, 'sessions')
  if (!hasEntries(directory)) return []
  const { listSessions } = await import('../../store/filesystem/list-sessions.ts')
  return listSessions(nodeDisk, directory).sort((a, b) => b.lastAt - a.lastAt || (a.id < b.id ? -1 : 1))
}

const spaceOf = (name: 'home' | 'temp', path: string) => ({ name, ...readSpace(path) })

export type StoredSubject = ClaimedSubject & { store: 'files' | 'postgres' }

/** Hooks keep their claims in files, wherever the store is: both are looked at. */
async function gatherLeases(
  home: string | undefined,
  take: <Found>(attempted: Attempt<Found>) => Found | undefined,
  warn: (message: string) => void,
) {
  const all = { subjects: [] as StoredSubject[], unreadable: [] as { key: string; reason: string }[] }
  const add = async (store: StoredSubject['store'], open: () => Register | Promise<Register>) => {
    const found = take(await attempt('leases', async () => allClaims(await open())))
    all.subjects.push(...(found?.subjects ?? []).map((subject) => ({ ...subject, store })))
    all.unreadable.push(...(found?.unreadable ?? []))
  }
  if (home !== undefined && hasEntries(join(home, 'locks')))
    await add('files', () => homeRegister() as Register)
  const url = take(await attempt('store', () => readStore(undefined, warn)))
  if (url !== undefined) await add('postgres', () => openRegister(undefined, warn))
  return all
}
