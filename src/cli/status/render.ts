import { basename } from 'node:path'
import type { AgentWorktree, LeftFile } from '../../agents/index.ts'
import { visibleText } from '../../base/text/escape.ts'
import { formatBytes } from '../../base/text/size.ts'
import { truncate, wrap } from '../../base/text/wrap.ts'
import type { Paint, Screen } from '../../command/context.ts'
import { agentTitle } from '../../hooks/index.ts'
import { sessionColumns } from '../../session/commands/list.ts'
import type { SessionState } from '../../session/index.ts'
import { renderOwner } from '../../sweep/index.ts'
import { renderCheck } from '../health/check.ts'
import { formatAge, formatTime, plural, shortPath } from '../text/format.ts'
import { type Column, table } from '../text/table.ts'
import type { StatusData } from './gather.ts'
import type { LeftoverData, OverviewData, RecentChange, RiskData } from './overview.ts'
import { agentLines, firstRows, late, nowLines } from './render-now.ts'

/** A status as lines for a person. */
interface StatusText {
  body: string[]
  /** Stays visible where the body does not fit. */
  todo: string[]
}

/** A title, and the lines beside it. */
type Part = readonly [title: string, lines: readonly string[]]

/** Columns beside the titles, and how many rows of a list are shown at most. */
interface Room {
  room: number
  shown: number
  paint: Paint
}

const titleColumns = 13
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

function renderParts(data: StatusData | OverviewData, { columns, paint }: Screen, shown: number): StatusText {
  const space = { room: Math.max(20, columns - titleColumns), shown, paint }
  const render = (parts: readonly Part[]): string[] =>
    parts.flatMap(([title, lines]) =>
      lines.map((line, index) => {
        const left = (index === 0 ? title : '').padEnd(titleColumns)
        return `${index === 0 ? paint.bold(left) : left}${line}`.trimEnd()
      }),
    )
  if ('next' in data) return { body: render(overviewParts(data, space)), todo: [] }
  const problems = data.findings.flatMap((finding) => renderCheck(finding, { columns: columns - 2, paint }))
  const todo =
    problems.length === 0
      ? render([['To do', ['nothing']]])
      : [paint.bold('To do'), ...problems.map((line) => `  ${line}`)]
  return { body: render(statusParts(data, space)), todo }
}

function statusParts(data: StatusData, { room, shown }: Room): Part[] {
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
  const texts = disk.map(({ name, free_bytes, total_bytes }) => ({
    name,
    text:
      total_bytes === 0 ? 'without a size' : `${formatBytes(free_bytes)} free of ${formatBytes(total_bytes)}`,
  }))
  const isOne = texts.every(({ text }) => text === texts[0]?.text)
  const space = isOne
    ? (texts[0]?.text ?? 'unknown')
    : texts.map(({ name, text }) => `${name} ${text}`).join('; ')
  return points.points === 0 ? space : `${space}; restore points ${formatBytes(points.bytes)}`
}

const runColumns = (root: string | null): Column<StatusData['runs'][number]>[] => [
  {
    title: 'SIZE',
    cell: (run) => `${run.partial ? '≥ ' : ''}${formatBytes(run.disk_bytes)}`,
    align: 'right',
  },
  { title: 'AGE', cell: (run) => formatAge(run.age_ms), align: 'right' },
  { title: 'OWNER', cell: renderOwner, cut: 'end', least: 16 },
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

/** The parts of `stint` alone. */
function overviewParts(data: OverviewData, { room, shown, paint }: Room): Part[] {
  const prose = (lines: readonly string[]): string[] =>
    lines.flatMap((line) => wrap(visibleText(line), room, 2))
  return [
    ['Agents', agentLines(data, room)],
    ['Protection', prose(protectionLines(data))],
    ['Now', nowLines(data, room, shown, false)],
    ['At risk', prose(data.risks === null ? [late] : orNothing(riskLines(data.risks)))],
    ['Left behind', prose(leftLines(data))],
    ['Changes', changeLines(data, room)],
    ['Next', nextLines(data, paint, room)],
  ]
}

const orNothing = (lines: readonly string[]): readonly string[] => (lines.length === 0 ? ['nothing'] : lines)

const sumOf = <Item>(items: readonly Item[], size: (item: Item) => number): number =>
  items.reduce((sum, item) => sum + size(item), 0)

function protectionLines({ agents, points, risks, at }: OverviewData): string[] {
  const takesPoints = agents.some(({ hooks, undo }) => hooks !== 'absent' && undo)
  const taken =
    points.points === 0
      ? ''
      : ` (${points.points} of ${plural(points.worktrees, 'worktree')}, ${formatBytes(points.bytes)})`
  const restore = `restore points ${takesPoints ? 'on' : 'off'}${taken}`
  if (risks === null) return [restore, `vault ${late}`]
  if (!risks.vault) return [restore, 'vault off: no conversation is kept']
  const keptCount = sumOf(risks.agents, (survey) => survey.kept)
  if (keptCount === 0) return [restore, 'vault on: no conversation yet']
  const size = formatBytes(sumOf(risks.agents, ({ bytes }) => bytes))
  const syncedAt = Math.max(0, ...risks.agents.map(({ synced_at }) => synced_at ?? 0))
  const sync = syncedAt === 0 ? 'never synced' : `synced ${formatAge(Math.max(0, at - syncedAt))} ago`
  return [restore, `vault on: ${plural(keptCount, 'conversation')}, ${size}, ${sync}`]
}

/** A line for each thing at risk; none if nothing is. */
function riskLines({ agents }: RiskData): string[] {
  const conversations = (count: number): string => plural(count, 'conversation')
  return agents.flatMap(({ agent, new: uncopied, due, lost, lost_after, gone }) => {
    const title = agentTitle(agent)
    const otherCount = uncopied - due
    const count = due > 0 ? `${otherCount} more` : conversations(otherCount)
    const seen =
      lost_after === null ? '' : `, last there ${formatTime(lost_after, { utc: false }).slice(0, 16)}`
    return [
      ...(due > 0 ? [`${title} deletes ${conversations(due)} within a week that you have no copy of`] : []),
      ...(otherCount > 0 ? [`${title} has ${count} without a copy`] : []),
      ...(gone > 0 ? [`${title} has lost ${conversations(gone)} already: only traces are left`] : []),
      ...(lost > 0 ? [`${title} has lost ${conversations(lost)} that the vault still has${seen}`] : []),
    ]
  })
}

function leftLines({ orphans, left_behind }: OverviewData): readonly string[] {
  const size = formatBytes(orphans.disk_bytes)
  const entries = plural(orphans.count, 'entry', 'entries')
  const runs = orphans.count === 0 ? [] : [`${entries} of dead runs (${size}): stint sweep`]
  return orNothing([...runs, ...(left_behind === null ? [late] : leftoverLines(left_behind))])
}

/** A line for what dead sessions left, and one for the worktrees of agents. */
function leftoverLines({ processes, files, worktrees }: LeftoverData): string[] {
  const bytes = (items: readonly { bytes: number }[]): string =>
    formatBytes(sumOf(items, (item) => item.bytes))
  const count = (kind: LeftFile['kind'], noun: string, nouns: string): string[] => {
    const matching = files.filter((file) => file.kind === kind)
    return matching.length > 0 ? [`${plural(matching.length, noun, nouns)} (${bytes(matching)})`] : []
  }
  const things = [
    ...(processes.length > 0
      ? [`${plural(processes.length, 'process', 'processes')} (${bytes(processes)} of memory)`]
      : []),
    ...count('temp', 'temp directory', 'temp directories'),
    ...count('library', 'unpacked library', 'unpacked libraries'),
  ]
  const ofSessions =
    things.length > 0 ? [`by dead sessions: ${things.join(', ')}: stint sweep --scope agents`] : []
  return [...ofSessions, ...worktreeLines(worktrees)]
}

function worktreeLines(worktrees: readonly AgentWorktree[]): string[] {
  if (worktrees.length === 0) return []
  const words = { alive: 'in use', changed: 'with changes', clean: 'clean', unknown: late }
  const counts = Object.entries(words).flatMap(([state, word]) => {
    const count = worktrees.filter((worktree) => worktree.state === state).length
    return count > 0 ? [`${count} ${word}`] : []
  })
  const clean = worktrees.find(({ state }) => state === 'clean')
  const command = clean === undefined ? [] : [`git worktree remove ${shortPath(clean.path)}`]
  return [`${plural(worktrees.length, 'worktree')} of agents: ${counts.join(', ')}`, ...command]
}

const undoneWords = { no: '', yes: 'undone', partly: 'partly undone' }

const changeColumns = (at: number): Column<RecentChange>[] => [
  { title: 'ID', cell: ({ id }) => id },
  { title: 'AGO', cell: ({ ended_at }) => formatAge(Math.max(0, at - ended_at)), align: 'right' },
  { title: 'WHO', cell: ({ agent, session_id }) => agent ?? session_id, cut: 'end', least: 8 },
  { title: 'FILES', cell: ({ files }) => files ?? late, align: 'right' },
  { title: 'STATE', cell: ({ undone }) => undoneWords[undone] },
  { title: 'WHERE', cell: ({ workspace }) => shortPath(workspace), cut: 'middle', least: 12 },
  { title: 'TASK', cell: ({ words }) => words, cut: 'end', least: 10, spare: 1 },
]

function changeLines({ changes, at }: OverviewData, room: number): string[] {
  if (changes === null) return [late]
  const [newest] = changes
  if (newest === undefined) return ['none yet']
  return [
    ...table(changes, changeColumns(at), room),
    `to take one back, in its directory: stint undo ${newest.id}`,
  ]
}

function nextLines({ next }: OverviewData, paint: Paint, room: number): string[] {
  const why = wrap(visibleText(next.why), room)
  if (next.step === null) return why
  const [first = '', ...rest] = wrap(visibleText(next.step), room)
  return [paint.bold(first), ...rest, ...why]
}
