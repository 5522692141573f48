import { LivingSessions, type RunningAgent } from '../../agents/index.ts'
import { systemClock } from '../../base/process/clock.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import { findWorkspace } from '../../lease/index.ts'
import { measureEntries } from '../../sweep/index.ts'
import { type AgentData, gatherAgents } from './agents.ts'
import { gatherStatus, type StatusData, statusSources } from './gather.ts'
import { gatherLeftovers, type LeftoverData } from './leftovers.ts'
import { chooseNext, type NextStep } from './next-step.ts'
import { gatherRecentChanges, type RecentChange } from './recent-changes.ts'
import { renderOverview } from './render-overview.ts'
import { gatherRisks, type RiskData } from './risks.ts'

/** The answer of `stint` alone: that of `stint status`, and a wider look. A part that is late is null. */
export interface OverviewData extends StatusData {
  agents: AgentData[]
  running: RunningAgent[]
  risks: RiskData | null
  left_behind: LeftoverData | null
  changes: RecentChange[] | null
  next: NextStep
}

/** Milliseconds after which no further part is looked at, and that one part may take if it can be stopped. */
const budgetMs = 1500
const partMs = 600
/** Milliseconds for measuring the temp directory. */
const measureWithinMs = 150

export const overviewCommand = defineBareCommand({
  name: 'stint',
  summary:
    'Shows on one screen which agents are here, who works where, what is at risk or left behind, and what to do next. Changes nothing.',
  options: {},
  examples: [
    ['stint', 'one screen'],
    ['stint --json', 'for scripts'],
  ],
  run: (): Promise<OverviewData> => gatherOverview(),
  render: renderOverview,
})

export async function gatherOverview(): Promise<OverviewData> {
  const until = systemClock.mono() + budgetMs
  const workspace = findWorkspace().path
  const entries = (at: number) => measureEntries(at, measureWithinMs)
  const status = await gatherStatus({ ...statusSources, entries })
  const living = new LivingSessions()
  const held = status.workspaces.flatMap((each) =>
    each.workspace !== undefined && each.claims.length > 0 ? [each.workspace] : [],
  )
  const look = <Found>(find: () => Found | Promise<Found>) => lookUntil(until, find)
  const [changes, leftBehind] = await Promise.all([
    look(() => (status.home === null ? [] : gatherRecentChanges(status.home))),
    look(() => gatherLeftovers(living, { workspaces: [workspace], held })),
  ])
  const { home } = status
  const overview = {
    ...status,
    agents: gatherAgents(workspace, status.hooks),
    running: living.running(),
    changes,
    left_behind: leftBehind,
    risks: home === null ? null : await look(() => gatherRisks(home)),
  }
  return { ...overview, next: chooseNext(overview) }
}

/** Looks at a part; null if it fails, takes too long, or its time is over before it begins. */
async function lookUntil<Found>(until: number, find: () => Found | Promise<Found>): Promise<Found | null> {
  if (systemClock.mono() > until) return null
  const timer = new AbortController()
  const { setTimeout } = await import('node:timers/promises')
  try {
    return await Promise.race([find(), setTimeout(partMs, null, timer)])
  } catch {
    // `stint doctor` says what is wrong.
    return null
  } finally {
    timer.abort()
  }
}
