import { truncate } from '../../base/text/display-width.ts'
import { visibleText } from '../../base/text/escape.ts'
import { formatBytes } from '../../base/text/size.ts'
import { wrap } from '../../base/text/wrap.ts'
import type { Screen } from '../../command/stdio.ts'
import { agentTitle } from '../../hooks/hosts/hosts.ts'
import { formatAge, plural, shortPath } from '../text/format.ts'
import { type Column, table } from '../text/table.ts'
import { agentName, hooksText } from './agents.ts'
import { leftoverLines } from './leftovers.ts'
import type { OverviewData } from './overview.ts'
import type { RecentChange } from './recent-changes.ts'
import { riskLines } from './risks.ts'

const titleColumns = 13
/** What stands for a part that did not answer in time. */
const late = '…'
/** How many sessions are shown at most. */
const shownSessions = 5

/** Renders the overview for a screen: a title at the left of each part, and its lines beside it. */
export function renderOverview(data: OverviewData, screen: Screen): string {
  const room = Math.max(20, screen.columns - titleColumns)
  const part = (title: string, lines: readonly string[]): string[] =>
    lines.map((line, index) => {
      const label = index === 0 ? screen.paint.bold(title.padEnd(titleColumns)) : ' '.repeat(titleColumns)
      return `${label}${line}`.trimEnd()
    })
  const prose = (lines: readonly string[]): string[] =>
    lines.flatMap((line) => wrap(visibleText(line), room, 2))
  return [
    ...part('Agents', agentLines(data, room)),
    ...part('Protection', prose(protectionLines(data))),
    ...part('Now', nowLines(data, room)),
    ...part('At risk', prose(data.risks === null ? [late] : orNothing(riskLines(data.risks)))),
    ...part('Left behind', prose(leftLines(data))),
    ...part('Changes', changeLines(data, room)),
    ...part('Next', nextLines(data, screen, room)),
  ].join('\n')
}

const orNothing = (lines: readonly string[]): readonly string[] => (lines.length === 0 ? ['nothing'] : lines)

const agentLines = ({ agents }: OverviewData, room: number): string[] => {
  if (agents.length === 0) return ['none found']
  const width = Math.max(...agents.map((agent) => agentName(agent).length)) + 2
  return agents.map((agent) => truncate(`${agentName(agent).padEnd(width)}${hooksText(agent)}`, room))
}

function protectionLines({ agents, points, risks, at }: OverviewData): string[] {
  const takesPoints = agents.some(({ hooks, undo }) => hooks !== 'absent' && undo)
  const taken =
    points.points === 0
      ? ''
      : ` (${points.points} of ${plural(points.worktrees, 'worktree')}, ${formatBytes(points.bytes)})`
  const restore = `restore points ${takesPoints ? 'on' : 'off'}${taken}`
  if (risks === null) return [restore, `vault ${late}`]
  if (!risks.vault) return [restore, 'vault off: no conversation is kept']
  if (risks.kept === 0) return [restore, 'vault on: no conversation yet']
  const sync =
    risks.last_sync === null ? 'never synced' : `synced ${formatAge(Math.max(0, at - risks.last_sync))} ago`
  return [restore, `vault on: ${plural(risks.kept, 'conversation')}, ${formatBytes(risks.bytes)}, ${sync}`]
}

interface SessionRow {
  who: string
  state: string
  where: string
  ageMs: number
  what: string
}

/** Sessions that hold or wait for a workspace, then agents that run and hold none. */
function sessionRows({ workspaces, running, at }: OverviewData): SessionRow[] {
  const working = workspaces.flatMap(({ claims, waiters, ...target }) => {
    const where = shortPath(target.workspace ?? target.resource)
    return [
      ...claims.map((claim) => ({
        id: claim.session_id,
        pid: claim.pid,
        row: {
          who: claim.origin?.agent ? agentTitle(claim.origin.agent) : claim.session_id,
          state: 'works',
          where,
          ageMs: claim.held_ms,
          what: claim.origin?.prompt ?? claim.purpose ?? '',
        },
      })),
      ...waiters.map((waiter) => ({
        id: waiter.session_id,
        pid: waiter.pid,
        row: {
          who: waiter.origin?.agent ? agentTitle(waiter.origin.agent) : waiter.session_id,
          state: 'waits',
          where,
          ageMs: waiter.waited_ms,
          what: waiter.origin?.prompt ?? '',
        },
      })),
    ]
  })
  const idle = running.filter(
    ({ pid, session_id }) => !working.some((each) => each.pid === pid || each.id === session_id),
  )
  return [
    ...working.map(({ row }) => row),
    ...idle.map(({ agent, directory, started_at }) => ({
      who: agentTitle(agent),
      state: 'runs',
      where: shortPath(directory ?? late),
      ageMs: Math.max(0, at - started_at),
      what: '',
    })),
  ]
}

const sessionColumns: Column<SessionRow>[] = [
  { title: 'WHO', cell: ({ who }) => who, cut: 'end', least: 8 },
  { title: 'STATE', cell: ({ state }) => state },
  { title: 'FOR', cell: ({ ageMs }) => formatAge(ageMs), align: 'right' },
  { title: 'WHERE', cell: ({ where }) => where, cut: 'middle', least: 14 },
  { title: 'WHAT', cell: ({ what }) => what, cut: 'end', least: 10, spare: 1 },
]

function nowLines(data: OverviewData, room: number): string[] {
  const rows = sessionRows(data)
  if (rows.length === 0) return ['no agent works']
  const shown = rows.length - shownSessions <= 1 ? rows : rows.slice(0, shownSessions)
  const rest = rows.length - shown.length
  return [...table(shown, sessionColumns, room), ...(rest > 0 ? [`… ${rest} more: stint status`] : [])]
}

function leftLines({ orphans, left_behind }: OverviewData): readonly string[] {
  const runs =
    orphans.count === 0
      ? []
      : [
          `${plural(orphans.count, 'entry', 'entries')} of dead runs (${formatBytes(orphans.disk_bytes)}): stint sweep`,
        ]
  return orNothing([...runs, ...(left_behind === null ? [late] : leftoverLines(left_behind))])
}

const changeColumns = (at: number): Column<RecentChange>[] => [
  { title: 'ID', cell: ({ id }) => id },
  { title: 'AGO', cell: ({ ended_at }) => formatAge(Math.max(0, at - ended_at)), align: 'right' },
  { title: 'WHO', cell: ({ agent, session_id }) => agent ?? session_id, cut: 'end', least: 8 },
  { title: 'FILES', cell: ({ files }) => files ?? late, align: 'right' },
  {
    title: 'STATE',
    cell: ({ undone }) => (undone === 'no' ? '' : undone === 'yes' ? 'undone' : 'partly undone'),
  },
  { title: 'WHERE', cell: ({ workspace }) => shortPath(workspace), cut: 'middle', least: 12 },
  { title: 'PROMPT', cell: ({ words }) => words, cut: 'end', least: 10, spare: 1 },
]

function changeLines({ changes, at }: OverviewData, room: number): string[] {
  if (changes === null) return [late]
  const [newest] = changes
  if (newest === undefined) return ['none yet']
  return [
    ...table(changes, changeColumns(at), room),
    `take one back, in its directory: stint undo ${newest.id}`,
  ]
}

function nextLines({ next }: OverviewData, { paint }: Screen, room: number): string[] {
  if (next.step === null) return [next.why]
  const [first = '', ...rest] = wrap(visibleText(next.step), room)
  return [paint.bold(first), ...rest, ...wrap(visibleText(next.why), room)]
}
