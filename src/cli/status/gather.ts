import { assertHomeFormat, homePath } from '../../base/fs/home.ts'
import { type AllClaims, type ClaimedTarget, findWorkspace } from '../../lease/index.ts'
import { findRoot, findTmp } from '../../scratch/index.ts'
import { listSessionsIn, type SessionSummary } from '../../session/index.ts'
import { type MeasuredEntry, measureEntries } from '../../sweep/index.ts'
import { Examination, isFinding } from '../health/check.ts'
import { checkDirectory, judgeSpace, readSpace } from '../health/directory.ts'
import { findHooks, judgeHooks } from '../health/hooks.ts'
import {
  claimsIn,
  countStates,
  judgeLeases,
  judgeOrphans,
  judgePoints,
  judgeSessions,
  readPointStores,
  sumOrphans,
  sumPoints,
} from '../health/contents.ts'
import type { ServerContents } from '../health/postgres.ts'
import { describeClaim, describeWaiter } from '../../lease/commands/describe.ts'
import { describeTarget } from '../../lease/commands/lock-options.ts'
import { describeSession } from '../../session/commands/describe.ts'
import { storeOfEnvironment } from '../store.ts'

/** Milliseconds that measuring may take: an exact size matters less than a quick answer. */
const measureWithinMs = 500
/** How many of the newest open sessions are named. */
const namedSessions = 100

/** The answer of `stint status`. */
export type StatusData = Awaited<ReturnType<typeof gatherStatus>>

/** Where the parts of a status come from that take time: `stint ui` keeps some from one look to the next. */
interface StatusSources {
  claims(home: string): Promise<AllClaims>
  sessions(home: string): Promise<SessionSummary[]>
  /** Undefined without a server. Hooks always keep claims in files, so both are shown. */
  server(): Promise<ServerContents | undefined>
  entries(at: number): Promise<MeasuredEntry[]>
  hooks(): ReturnType<typeof findHooks>
}

/** The sources that look anew each time. */
/** How many of the newest sessions a status counts: reading all of them could take seconds. */
const maxSessions = 1000

export const statusSources: StatusSources = {
  claims: claimsIn,
  sessions: (home: string): Promise<SessionSummary[]> => listSessionsIn(home, { newest: maxSessions }),
  server: readServerOfEnvironment,
  entries: (at) => measureEntries(at, measureWithinMs),
  hooks: () => findHooks(findWorkspace().path),
}

/** Looks at everything. A part that cannot be looked at becomes a finding, and the rest is still shown. */
export async function gatherStatus(sources: StatusSources = statusSources) {
  const at = Date.now()
  const examination = new Examination()
  const inHome = await lookAtHome(examination, sources)
  const temp = await lookAtTemp(examination, () => sources.entries(at))
  const server = await examination.look('store', sources.server)
  const hooks = await examination.look('hooks', sources.hooks)
  const disk = [inHome.space, temp.space].filter((space) => space !== undefined)
  const orphans = sumOrphans(temp.entries)
  examination.add(
    ...disk.map((space) => judgeSpace(`${space.name} disk`, space)),
    ...(inHome.claims ? [judgeLeases(inHome.claims, inHome.path)] : []),
    ...(server ? [judgeLeases(server)] : []),
    ...judgeSessions(inHome.sessions),
    ...judgeSessions(server?.sessions ?? [], 'server'),
    ...judgePoints(inHome.points),
    judgeOrphans(orphans),
    ...(hooks ? judgeHooks(hooks) : []),
  )
  return {
    at,
    home: inHome.path ?? null,
    root: temp.root ?? null,
    workspaces: [
      ...(inHome.claims?.targets ?? []).map((target) => describeWorkspace(target, 'files')),
      ...(server?.targets ?? []).map((target) => describeWorkspace(target, 'postgres')),
    ],
    runs: temp.entries.filter(isRun).map(describeRun),
    sessions: describeSessions([...inHome.sessions, ...(server?.sessions ?? [])]),
    orphans,
    points: sumPoints(inHome.points),
    disk,
    hooks: (hooks?.hooks ?? []).map(({ agent, place, path, state, choices }) => ({
      agent,
      place,
      path,
      state,
      /** Whether they take restore points. */
      undo: choices.undo !== false,
    })),
    without_hooks: hooks?.without ?? [],
    findings: examination.checks.filter(isFinding),
  }
}

/** Claims, sessions and space in the home. Nothing in an unusable home is a finding of its own. */
async function lookAtHome(examination: Examination, sources: StatusSources) {
  const path = await examination.look('home', () => homePath())
  const home = await examination.look('home', () => withFormat(path))
  const isUsable = home !== undefined && (await isHomeUsable(examination, home))
  const look = async <Found>(
    name: string,
    find: (home: string) => Found | Promise<Found>,
  ): Promise<Found | undefined> =>
    home === undefined ? undefined : await examination.look(name, () => find(home), isUsable)
  return {
    path,
    claims: await look('leases', sources.claims),
    sessions: (await look('sessions', sources.sessions)) ?? [],
    points: (await look('points', readPointStores)) ?? [],
    space: await look('home disk', (at) => ({ name: 'home', ...readSpace(at) })),
  }
}

/** The entries and the space in the temp directory. */
async function lookAtTemp(examination: Examination, measure: () => Promise<MeasuredEntry[]>) {
  const tmp = await examination.look('temp directory', () => findTmp())
  if (tmp === undefined) return { entries: [] }
  const root = await examination.look('temp directory', () => findRoot()?.path)
  return {
    root,
    entries: root === undefined ? [] : ((await examination.look('runs', measure)) ?? []),
    space: await examination.look('temp disk', () => ({ name: 'temp', ...readSpace(tmp) })),
  }
}

function describeSessions(sessions: SessionSummary[]) {
  const open = sessions.sort(newestFirst).filter(({ state }) => state !== 'closed')
  return {
    total: sessions.length,
    states: countStates(sessions),
    open: open.slice(0, namedSessions).map(describeSession),
  }
}

/** The path of a home; throws `HOME_FORMAT` if a version with another format has made it. */
function withFormat(home: string | undefined): string | undefined {
  if (home !== undefined) assertHomeFormat(home)
  return home
}

/** Adds a finding only if the home cannot be used: what could merely be better is for the doctor. */
async function isHomeUsable(examination: Examination, home: string): Promise<boolean> {
  const check = await examination.look('home', () => checkDirectory('home', home))
  if (check?.level === 'fail') examination.add(check)
  return check !== undefined && check.level !== 'fail'
}

async function readServerOfEnvironment(): Promise<ServerContents | undefined> {
  const url = storeOfEnvironment()
  return url === undefined ? undefined : await (await import('../health/postgres.ts')).readServer(url)
}

const describeWorkspace = (
  { key, workspace, claims, waiters, observation }: ClaimedTarget,
  store: 'files' | 'postgres',
) => ({
  ...describeTarget({ key, title: workspace }),
  store,
  claims: claims.map((claim) => describeClaim(claim, observation)),
  waiters: waiters.map((waiter) => describeWaiter(waiter, observation)),
})

/** A scratch whose run is alive, or may be: a process in another container cannot be seen. */
const isRun = ({ kind, reason }: MeasuredEntry): boolean =>
  kind === 'scratch' && ['owner-alive', 'child-alive', 'owner-unknown'].includes(reason)

const describeRun = (entry: MeasuredEntry) => ({
  request_id: entry.request_id,
  session_id: entry.session_id,
  command: entry.command,
  pid: entry.pid,
  liveness: entry.liveness,
  path: entry.path,
  bytes: entry.bytes,
  disk_bytes: entry.disk_bytes,
  files: entry.files,
  /** Whether counting took too long, so that the true size is at least this. */
  partial: entry.partial ?? false,
  created_at: entry.created_at,
  age_ms: entry.age_ms,
})

const newestFirst = (a: SessionSummary, b: SessionSummary): number =>
  b.lastAt - a.lastAt || (a.id < b.id ? -1 : 1)
