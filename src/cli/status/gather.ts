import { findAgents, type InstalledAgent, LivingSessions, type RunningAgent } from '../../agents/index.ts'
import { ifPossible } from '../../base/errors/if-possible.ts'
import { assertHomeFormat, homePath } from '../../base/fs/home.ts'
import { ancestorsOf } from '../../base/process/platform.ts'
import { readCodexTrust, type WrittenTrust } from '../../hooks/index.ts'
import { describeStatus } from '../../lease/commands/describe.ts'
import { describeTarget } from '../../lease/commands/lock-options.ts'
import { type ClaimedTarget, findWorkspace } from '../../lease/index.ts'
import { findRoot, findTmp, rootOf } from '../../scratch/index.ts'
import { describeSession } from '../../session/commands/list.ts'
import { listSessionsIn, type SessionSummary } from '../../session/index.ts'
import { type MeasuredEntry, measureEntries } from '../../sweep/index.ts'
import { type Check, Examination, isFinding, ok, warn } from '../health/check.ts'
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
import { checkDirectory, judgeSpace, readSpace } from '../health/directory.ts'
import { findHooks, type HookHealth, judgeHooks } from '../health/hooks.ts'
import type { ServerContents } from '../health/postgres.ts'
import { storeOfEnvironment } from '../store.ts'

/** Milliseconds that measuring may take: an exact size matters less than a quick answer. */
const measureWithinMs = 250
/** How many of the newest sessions are counted: reading all of them could take seconds. */
const maxSessions = 1000
/** How many of the newest open sessions are named. */
const namedSessions = 100

/** The parts that take time to read: `stint ui` keeps some of them from one look to the next. */
interface Sources {
  sessions(home: string): Promise<SessionSummary[]>
  /** Undefined without a server. Hooks always keep claims in files, so both are shown. */
  server(): Promise<ServerContents | undefined>
  entries(at: number): Promise<MeasuredEntry[]>
  hooks(): ReturnType<typeof readHooks>
}

/** The sources that read anew each time. */
export const freshSources: Sources = {
  sessions: (home) => listSessionsIn(home, { newest: maxSessions }),
  server: readServerOfEnvironment,
  entries: (at) => measureEntries(at, measureWithinMs),
  hooks: readHooks,
}

/** The result of one look at this machine. */
export type Look = Awaited<ReturnType<typeof lookAround>>

/** Looks at everything. A part that cannot be read becomes a failed check, and the rest is still there. */
export async function lookAround(sources: Sources = freshSources) {
  const at = Date.now()
  const examination = new Examination()
  const home = await lookAtHome(examination, sources)
  const temp = await lookAtTemp(examination, () => sources.entries(at))
  const server = await examination.look('postgres', sources.server)
  const hooks = await examination.look('hooks', sources.hooks)
  const disk = [home.space, temp.space].filter((space) => space !== undefined)
  const orphans = sumOrphans(temp.entries)
  const { checks } = examination
  checks.push(
    ...disk.map((space) => judgeSpace(`${space.name} disk`, space)),
    ...(home.claims ? [judgeLeases(home.claims, home.path)] : []),
    ...(server ? [ok('postgres', 'the server answers and accepts writes'), judgeLeases(server)] : []),
    ...judgeSessions([...home.sessions, ...(server?.sessions ?? [])]),
    ...judgePoints(home.points),
    judgeOrphans(orphans),
    ...(hooks ? [...judgeHooks(hooks), ...judgeTrust(hooks.agents)] : []),
  )
  return { at, home, temp, server, hooks, disk, orphans, checks }
}

/** The answer of `stint status`; that of `stint` alone has more. */
export type StatusData = ReturnType<typeof describeLook>

/** Describes a look in the form of JSON answers. */
export function describeLook(look: Look, running: readonly RunningAgent[] = []) {
  const workspaces = [
    ...(look.home.claims?.targets ?? []).map((target) => describeWorkspace(target, 'files')),
    ...(look.server?.targets ?? []).map((target) => describeWorkspace(target, 'postgres')),
  ]
  const parties = workspaces.flatMap(({ claims, waiters }) => [...claims, ...waiters])
  // The process that holds or waits may be below the agent's own: npm starts Codex by a launcher.
  const busyPids = new Set(
    parties.flatMap(({ pid }) => (pid === null ? [] : [...ancestorsOf(pid)].map((process) => process.pid))),
  )
  return {
    at: look.at,
    home: look.home.path ?? null,
    root: look.temp.root ?? null,
    agents: look.hooks?.agents ?? [],
    running: running.map((agent) => ({
      ...agent,
      is_busy: busyPids.has(agent.pid) || parties.some(({ session_id }) => session_id === agent.session_id),
    })),
    workspaces,
    runs: look.temp.entries.filter(isRun).map(describeRun),
    sessions: describeSessions([...look.home.sessions, ...(look.server?.sessions ?? [])]),
    orphans: look.orphans,
    points: sumPoints(look.home.points),
    disk: look.disk,
    hooks: (look.hooks?.hooks ?? []).map(({ agent, place, path, state, choices }) => ({
      agent,
      place,
      path,
      state,
      /** Whether they take restore points. */
      undo: choices.undo !== false,
    })),
    findings: look.checks.filter(isFinding),
  }
}

export async function gatherStatus(): Promise<StatusData> {
  const running = ifPossible(() => new LivingSessions().running())
  return describeLook(await lookAround(), running)
}

/** Claims, sessions and space in the home. In an unusable home, what fails is no finding of its own. */
async function lookAtHome(examination: Examination, sources: Sources) {
  const path = await examination.look('home', () => homePath())
  const check =
    path === undefined
      ? undefined
      : await examination.look('home', () => {
          // A home that another version has made is shown, but not read.
          assertHomeFormat(path)
          return checkDirectory('home', path)
        })
  if (check !== undefined) examination.checks.push(check)
  const isUsable = check !== undefined && check.level !== 'fail'
  const look = async <Part>(
    name: string,
    read: (home: string) => Part | Promise<Part>,
  ): Promise<Part | undefined> =>
    path === undefined || check === undefined
      ? undefined
      : await examination.look(name, () => read(path), isUsable)
  return {
    path,
    isUsable,
    claims: await look('leases', claimsIn),
    sessions: (await look('sessions', sources.sessions)) ?? [],
    points: (await look('points', readPointStores)) ?? [],
    space: await look('home disk', (directory) => ({ name: 'home', ...readSpace(directory) })),
  }
}

/** The entries and the space in the temp directory. */
async function lookAtTemp(examination: Examination, measure: () => Promise<MeasuredEntry[]>) {
  const path = await examination.look('temp', () => findTmp())
  if (path === undefined) return { entries: [], isUsable: false }
  const check = await examination.look('temp', () => checkDirectory('temp', rootOf(path).path))
  if (check !== undefined) examination.checks.push(check)
  const root = await examination.look('temp', () => findRoot()?.path, false)
  return {
    root,
    isUsable: check !== undefined && check.level !== 'fail',
    entries: root === undefined ? [] : ((await examination.look('orphans', measure)) ?? []),
    space: await examination.look('temp disk', () => ({ name: 'temp', ...readSpace(path) })),
  }
}

async function readServerOfEnvironment(): Promise<ServerContents | undefined> {
  const url = storeOfEnvironment()
  return url === undefined ? undefined : await (await import('../health/postgres.ts')).readServer(url)
}

/** Finds the agents of this user and their hooks; starts no agent. */
async function readHooks() {
  const workspace = findWorkspace().path
  const { hooks, without } = await findHooks(workspace)
  return { hooks, without, agents: findAgents(workspace).map((agent) => describeAgent(agent, hooks)) }
}

/** An agent that its user has, and whether it asks stint. */
export interface AgentData extends InstalledAgent {
  /** The state of the hooks in the user's own settings or in those of the project; `absent`: none. */
  hooks: string
  /** Whether Codex runs the hooks that are in; null for agents that run any, and without hooks. */
  trust: WrittenTrust | null
  /** Whether its hooks take restore points. */
  undo: boolean
}

function describeAgent(agent: InstalledAgent, hooks: readonly HookHealth[]): AgentData {
  const installed = hooks.filter((hook) => hook.agent === agent.agent)
  const hook = installed.find(({ state }) => state === 'installed') ?? installed[0]
  if (hook === undefined) return { ...agent, hooks: 'absent', trust: null, undo: false }
  return {
    ...agent,
    hooks: hook.state,
    trust: agent.agent === 'codex' ? readCodexTrust(hook.path) : null,
    undo: hook.choices.undo !== false,
  }
}

/** A warning for Codex if its user has not trusted the hooks: it does not run them. */
const judgeTrust = (agents: readonly AgentData[]): Check[] =>
  agents
    .filter(({ trust }) => trust === 'untrusted')
    .map(({ title }) =>
      warn(
        'hooks',
        `${title} does not run its hooks until you trust them`,
        'enter /hooks in Codex, then press t',
      ),
    )

const describeWorkspace = (target: ClaimedTarget, store: 'files' | 'postgres') => ({
  ...describeTarget(target),
  store,
  ...describeStatus(target),
})

function describeSessions(sessions: SessionSummary[]) {
  const newestFirst = sessions.sort((a, b) => b.lastAt - a.lastAt || (a.id < b.id ? -1 : 1))
  const open = newestFirst.filter(({ state }) => state !== 'closed')
  return {
    total: sessions.length,
    states: countStates(sessions),
    open: open.slice(0, namedSessions).map(describeSession),
  }
}

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
