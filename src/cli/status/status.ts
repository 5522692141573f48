import { defineBareCommand } from '../../command/define-command.ts'
import { stableWorkspace } from '../../lease/commands/describe.ts'
import { readWatch, watchOptions, watchScreen } from '../terminal/watch-screen.ts'
import { gatherStatus, type StatusData } from './gather.ts'
import { gatherOverview } from './overview.ts'
import { renderStatus, statusLines } from './render.ts'

/** `stint` alone: a wider look than `stint status`, with the same words. */
export const overviewCommand = defineBareCommand({
  name: 'stint',
  summary:
    'Shows on one screen which agents are here, who works where, what is at risk or left behind, and what to do next. Changes nothing.',
  options: {},
  examples: [
    ['stint', 'one screen'],
    ['stint --json', 'for scripts'],
  ],
  run: () => gatherOverview(),
  render: statusLines,
})

export const statusCommand = defineBareCommand({
  name: 'status',
  summary: 'Shows who works where, runs, sessions, disk space and hooks, and what to do about problems.',
  options: watchOptions,
  examples: [
    ['stint status', 'one screen'],
    ['stint status --watch', 'kept up to date, until Ctrl-C'],
    ['stint status --json', 'for scripts'],
    ['stint status --watch --json', 'one JSON object for each change'],
  ],
  stream: ({ options }) => options.watch,
  async run(context, { options }): Promise<StatusData | undefined> {
    const intervalMs = readWatch(options)
    if (intervalMs === undefined) return gatherStatus()
    const watched = { called: 'stint status', look: gatherStatus, render: renderStatus, stableFields }
    await watchScreen(context, intervalMs, watched)
    return undefined
  },
  render: (data, screen) => (data === undefined ? '' : statusLines(data, screen)),
})

/** The fields of a status that change only if something happens, as ages and sizes do not. */
export function stableFields(data: StatusData): unknown {
  const { home, root, agents, running, workspaces, runs, sessions, orphans, hooks, findings } = data
  return {
    home,
    root,
    agents,
    running: running.map(({ pid }) => pid),
    workspaces: workspaces.map(stableWorkspace),
    runs: runs.map(({ path, liveness }) => [path, liveness]).sort(),
    sessions: [
      sessions.states,
      sessions.open.map(({ session_id, state, holder }) => [session_id, state, holder?.pid]),
    ],
    orphans: orphans.count,
    hooks,
    findings: findings.map(({ name, level }) => [name, level]),
  }
}
