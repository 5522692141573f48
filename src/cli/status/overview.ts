import { existsSync } from 'node:fs'
import { join } from 'node:path'
import {
  type AgentWorktree,
  findLeftFiles,
  findOrphans,
  findWorktrees,
  type LeftFile,
  LivingSessions,
  type OrphanedProcess,
} from '../../agents/index.ts'
import { hasEntries } from '../../base/fs/exists.ts'
import { systemClock } from '../../base/process/clock.ts'
import { findWorkspace } from '../../lease/index.ts'
import type { ChangeSet, PointStore } from '../../points/index.ts'
import { surveyVault, vaultDirectory } from '../../vault/index.ts'
import { describeLook, lookAround, type StatusData } from './gather.ts'

/** The answer of `stint` alone: that of `stint status`, and a wider look. A part that is late is null. */
export interface OverviewData extends StatusData {
  risks: RiskData | null
  left_behind: LeftoverData | null
  changes: RecentChange[] | null
  next: NextStep
}

/** Milliseconds after which no further part is looked at, and that one part may take if it can be stopped. */
const budgetMs = 1500
const partMs = 600

export async function gatherOverview(): Promise<OverviewData> {
  const until = systemClock.mono() + budgetMs
  const sessions = new LivingSessions()
  const status = describeLook(await lookAround(), sessions.running())
  const { home } = status
  const [changes, leftBehind] = await Promise.all([
    lookUntil(until, () => (home === null ? [] : readRecentChanges(home))),
    lookUntil(until, () => findLeftovers(sessions, status)),
  ])
  const risks = home === null ? null : await lookUntil(until, () => readRisks(home))
  const overview = { ...status, changes, left_behind: leftBehind, risks }
  return { ...overview, next: chooseNext(overview) }
}

/** Looks at a part; null if it fails, takes too long, or its time is over before it begins. */
async function lookUntil<Part>(until: number, read: () => Part | Promise<Part>): Promise<Part | null> {
  if (systemClock.mono() > until) return null
  const timer = new AbortController()
  const { setTimeout } = await import('node:timers/promises')
  try {
    return await Promise.race([read(), setTimeout(partMs, null, timer)])
  } catch {
    // `stint doctor` says what is wrong.
    return null
  } finally {
    timer.abort()
  }
}

/** The vault, and what the agents will delete or have deleted already, as `stint vault status` has it. */
export interface RiskData {
  vault: boolean
  agents: ReturnType<typeof surveyVault>['agents']
}

function readRisks(home: string): RiskData {
  const vault = vaultDirectory(home)
  return { vault: existsSync(vault), agents: surveyVault(vault).agents }
}

/** The leftovers of agents' dead sessions, and the worktrees that agents have made. */
export interface LeftoverData {
  processes: Omit<OrphanedProcess, 'command'>[]
  files: LeftFile[]
  worktrees: AgentWorktree[]
}

/** Milliseconds that measuring files may take, and that git gets for all worktrees. */
const measureWithinMs = 150
const gitWithinMs = 500

async function findLeftovers(sessions: LivingSessions, status: StatusData): Promise<LeftoverData> {
  const heldWorkspaces = status.workspaces.flatMap(({ workspace, claims }) =>
    workspace !== undefined && claims.length > 0 ? [workspace] : [],
  )
  const workspaces = [findWorkspace().path]
  return {
    // A command line may contain secrets; `stint sweep --scope agents` masks and shows it.
    processes: findOrphans(sessions).map(({ command: _command, ...orphan }) => orphan),
    files: findLeftFiles(sessions, measureWithinMs),
    worktrees: await findWorktrees(sessions.table, { workspaces, held: heldWorkspaces }, gitWithinMs),
  }
}

/** A change set of any worktree. */
export interface RecentChange {
  id: string
  workspace: string
  session_id: string | null
  agent: string | null
  words: string | null
  ended_at: number
  /** How many files it changed; null if git did not answer. */
  files: number | null
  undone: ChangeSet['undone']
}

const shownChanges = 3

/** The newest change sets that have ended, newest first. Reads only: a turn that goes on has no end yet. */
async function readRecentChanges(home: string): Promise<RecentChange[]> {
  if (!hasEntries(join(home, 'points'))) return []
  const { changeSets, listStores, readPoints } = await import('../../points/index.ts')
  const newest = listStores()
    .flatMap((store) => changeSets(readPoints(store)).map((set) => ({ store, set })))
    .filter(({ set }) => set.kind === 'turn' && set.from.tree !== set.to.tree)
    .sort((a, b) => b.set.to.at - a.set.to.at)
    .slice(0, shownChanges)
  return await Promise.all(newest.map(describeChange))
}

async function describeChange({ store, set }: { store: PointStore; set: ChangeSet }): Promise<RecentChange> {
  const { readChanges } = await import('../../points/index.ts')
  const [changes] = await readChanges(store, [set]).catch(() => [undefined])
  return {
    id: set.id,
    workspace: store.root,
    session_id: set.session_id ?? null,
    agent: set.agent ?? null,
    words: set.words ?? null,
    ended_at: set.to.at,
    files: changes?.length ?? null,
    undone: set.undone,
  }
}

/** The one thing to do next, and why. */
export interface NextStep {
  /** A command line, or an action in words; null if there is nothing to do. */
  step: string | null
  why: string
}

/** Chooses the one next step: first what does not work, then what protects, then what tidies up. */
export function chooseNext({
  findings,
  agents,
  risks,
  left_behind,
}: Pick<OverviewData, 'findings' | 'agents' | 'risks' | 'left_behind'>): NextStep {
  const failure = findings.find(({ level }) => level === 'fail')
  if (failure !== undefined) return { step: failure.fix, why: failure.text }
  if (agents.length === 0)
    return { step: 'stint demo', why: 'no agent was found here; the demo shows what stint does for agents' }
  if (agents.some(({ hooks }) => hooks === 'absent') || risks?.vault === false)
    return {
      step: 'stint init',
      why: 'puts hooks in, keeps restore points and conversations; `stint init --remove` takes it back',
    }
  if (agents.some(({ trust }) => trust === 'untrusted'))
    return { step: 'enter /hooks in Codex, then press t', why: 'Codex runs only hooks that you have trusted' }
  const finding = findings.find(({ fix }) => fix !== null)
  if (finding !== undefined) return { step: finding.fix, why: finding.text }
  if (risks?.agents.some((survey) => survey.new > 0))
    return { step: 'stint vault sync', why: 'some conversations have no copy yet' }
  if ((left_behind?.processes.length ?? 0) + (left_behind?.files.length ?? 0) > 0)
    return {
      step: 'stint sweep --scope agents',
      why: 'shows what dead sessions left, and asks before it removes anything',
    }
  return { step: null, why: 'nothing to do' }
}
