import { defineBareCommand } from '../../command/define-command.ts'
import { readWatch, watchOptions } from '../interval.ts'
import { stableWorkspace } from '../../lease/commands/describe.ts'
import { gatherStatus, type StatusData } from './gather.ts'
import { renderStatus } from './render.ts'

export const statusCommand = defineBareCommand({
  name: 'status',
  summary:
    'Shows who holds which workspace, runs, sessions, disk space and hooks, and what to do about problems.',
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
    const { watchScreen } = await import('../terminal/watch-screen.ts')
    const watched = { called: 'stint status', look: gatherStatus, render: renderStatus, stableFields }
    await watchScreen(context, intervalMs, watched)
    return undefined
  },
  render(data, screen) {
    if (data === undefined) return ''
    const { body, todo } = renderStatus(data, screen)
    return [...body, ...todo].join('\n')
  },
})

/** The fields of a status that change only if something happens, as ages and sizes do not. */
export function stableFields(data: StatusData): unknown {
  const { home, root, workspaces, runs, sessions, orphans, hooks, without_hooks, findings } = data
  return {
    home,
    root,
    workspaces: workspaces.map(stableWorkspace),
    runs: runs.map(({ path, liveness }) => [path, liveness]).sort(),
    sessions: [
      sessions.states,
      sessions.open.map(({ session_id, state, holder }) => [session_id, state, holder?.pid]),
    ],
    orphans: orphans.count,
    hooks,
    without_hooks,
    findings: findings.map(({ name, level }) => [name, level]),
  }
}
