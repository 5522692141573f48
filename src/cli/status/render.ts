import { basename } from 'node:path'
import { truncate } from '../../base/text/wrap.ts'
import { visibleText } from '../../base/text/escape.ts'
import { formatBytes } from '../../base/text/size.ts'
import type { Screen } from '../../command/context.ts'
import { sessionColumns } from '../../session/commands/list.ts'
import type { SessionState } from '../../session/index.ts'
import { renderOwner } from '../../sweep/index.ts'
import { renderCheck } from '../health/check.ts'
import { formatAge, formatDataSize, plural, shortPath } from '../text/format.ts'
import { type Column, table } from '../text/table.ts'
import type { StatusData } from './gather.ts'
import type { OverviewData } from './overview.ts'
import { agentLines, nowLines, firstRows } from './render-now.ts'
import { overviewParts, type Part } from './render-overview.ts'

/** A status as lines for a person. */
interface StatusText {
  body: string[]
  todo: string[]
}

const titleColumns = 13
const indent = '  '
/** How many rows of a list are shown at most; each list names the command that shows the rest. */
const shownRows = [5, 3, 2, 1]

export function statusLines(data: StatusData | OverviewData, screen: Screen): string {
  const { body, todo } = renderStatus(data, screen)
  return [...body, ...todo].join('\n')
}

/** Renders a status for a screen. Lists are shorter where the screen has too few rows for them. */
export function renderStatus(data: StatusData | OverviewData, screen: Screen): StatusText {
  const texts = shownRows.map((rows) => renderParts(data, screen, rows))
  // The prompt needs a row, too.
  const fits = ({ body, todo }: StatusText): boolean => body.length + todo.length < screen.rows
  return (texts.find(fits) ?? texts.at(-1)) as StatusText
}

function renderParts(data: StatusData | OverviewData, screen: Screen, shown: number): StatusText {
  const { columns, paint } = screen
  const room = Math.max(20, columns - titleColumns)
  const margin = ' '.repeat(titleColumns)
  const render = ([title, lines]: Part): string[] =>
    lines.map((line, index) => `${index === 0 ? paint.bold(title.padEnd(titleColumns)) : margin}${line}`)
  if ('next' in data) {
    const parts = overviewParts(data, { room, shown, paint })
    return { body: parts.flatMap(render).map((line) => line.trimEnd()), todo: [] }
  }
  const { findings } = data
  const problems = findings.flatMap((finding) => renderCheck(finding, { columns: columns - 2, paint }))
  return {
    body: statusParts(data, room, shown)
      .flatMap(render)
      .map((line) => line.trimEnd()),
    todo:
      problems.length === 0
        ? render(['To do', ['nothing']])
        : [paint.bold('To do'), ...problems.map((line) => `${indent}${line}`)],
  }
}

function statusParts(data: StatusData, room: number, shown: number): Part[] {
  const { runs, root, sessions, orphans } = data
  const path = (text: string, width = room): string => truncate(visibleText(shortPath(text)), width, 'middle')
  const size = `${orphans.partial ? '≥ ' : ''}${formatBytes(orphans.disk_bytes)}`
  const orphanText = orphans.count === 0 ? '' : `, ${plural(orphans.count, 'orphan')} (${size})`
  const largest = runs.toSorted((a, b) => b.disk_bytes - a.disk_bytes)
  const runCount = runs.length === 0 ? 'none' : `${runs.length} under way`
  return [
    ['Home', [data.home === null ? 'unusable' : path(data.home)]],
    ['Temp', [root === null ? 'none yet' : `${path(root, room - orphanText.length)}${orphanText}`]],
    ['Disk', [diskText(data)]],
    ['Agents', agentLines(data, room)],
    ['Now', nowLines(data, room, shown, true)],
    ['Runs', [runCount, ...firstRows(largest, runColumns(root), room, shown, 'stint temp list')]],
    ['Sessions', [statesText(sessions), ...sessionLines(data, room, shown)]],
  ]
}

/** Home and temp directory are often on one disk. */
function diskText({ disk, points }: StatusData): string {
  const texts = disk.map(({ name, free_bytes: free, total_bytes: total }) => ({
    name,
    text: total === 0 ? 'without a size' : `${formatBytes(free)} free of ${formatBytes(total)}`,
  }))
  const [first, second] = texts
  const isOne = first?.text === second?.text
  const space = isOne
    ? (first?.text ?? 'unknown')
    : texts.map(({ name, text }) => `${name} ${text}`).join('; ')
  return points.points === 0 ? space : `${space}; restore points ${formatBytes(points.bytes)}`
}

const runColumns = (root: string | null): Column<StatusData['runs'][number]>[] => [
  {
    title: 'SIZE',
    cell: (run) => `${run.partial ? '≥ ' : ''}${formatBytes(run.disk_bytes)}`,
    align: 'right',
  },
  { title: 'DATA', cell: formatDataSize, align: 'right', spare: 0 },
  { title: 'FILES', cell: (run) => run.files, align: 'right', spare: 1 },
  { title: 'AGE', cell: (run) => formatAge(run.age_ms), align: 'right' },
  { title: 'OWNER', cell: renderOwner, cut: 'end', least: 16 },
  { title: 'SESSION', cell: (run) => run.session_id, cut: 'middle', least: 10, spare: 2 },
  {
    title: 'SCRATCH',
    cell: (run) => (root === null ? run.path : basename(run.path)),
    cut: 'middle',
    least: 12,
  },
]

function statesText({ total, states }: StatusData['sessions']): string {
  if (total === 0) return 'none'
  const counts = Object.entries(states).filter(([, count]) => count > 0)
  return counts.map(([state, count]) => `${count} ${state}`).join(', ')
}

/** The states that matter most, first. */
const stateOrder: readonly SessionState[] = ['damaged', 'locked', 'active', 'crashed']

/** The open sessions that matter most, and for each state the command that shows the others. */
function sessionLines({ sessions, at }: StatusData, room: number, shown: number): string[] {
  const open = sessions.open.toSorted((a, b) => stateOrder.indexOf(a.state) - stateOrder.indexOf(b.state))
  const first = open.length - shown <= 1 ? open : open.slice(0, shown)
  const rests = stateOrder.flatMap((state) => {
    const count = sessions.states[state] - first.filter((session) => session.state === state).length
    return count > 0 ? [`… ${count} more ${state}: stint sessions list --state ${state} --all`] : []
  })
  return [...table(first, sessionColumns(at), room), ...rests]
}
