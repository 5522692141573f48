import { basename } from 'node:path'
import type { Screen } from '../../command/stdio.ts'
import { truncate } from '../../base/text/display-width.ts'
import { formatBytes } from '../../base/text/size.ts'
import { visibleText } from '../../base/text/escape.ts'
import { agentTitle } from '../../hooks/hosts/hosts.ts'
import type { SessionState } from '../../session/index.ts'
import { renderCheck } from '../health/check.ts'
import { originText } from '../../lease/index.ts'
import { whatOf } from '../../lease/commands/describe.ts'
import { sessionColumns } from '../../session/commands/describe.ts'
import { type Column, table } from '../text/table.ts'
import { formatAge, formatDataSize, plural, shortPath } from '../text/format.ts'
import { renderOwner } from '../../sweep/commands/temp/render-entries.ts'
import type { StatusData } from './gather.ts'

/** The status as lines for a person. */
interface StatusText {
  body: string[]
  todo: string[]
}

const indent = 2
const titleColumns = 12
/** How many rows of a list are shown at most; each list names the command that shows the rest. */
const shownRows = [3, 2, 1]

/** Renders the status for a screen. Lists are shorter where the screen has too few rows for them. */
export function renderStatus(data: StatusData, screen: Screen): StatusText {
  const texts = shownRows.map((rows) => renderLists(data, screen, rows))
  // The prompt needs a row, too.
  const fits = ({ body, todo }: StatusText): boolean => body.length + todo.length < screen.rows
  return (
    screen.rows === Number.POSITIVE_INFINITY ? texts[0] : (texts.find(fits) ?? texts.at(-1))
  ) as StatusText
}

function renderLists(data: StatusData, screen: Screen, shown: number): StatusText {
  const { columns, paint } = screen
  const room = columns - indent
  const section = (title: string, note: string, lines: readonly string[] = []): string[] => [
    `${paint.bold(title.padEnd(titleColumns - 2))}  ${note}`.trimEnd(),
    ...lines.map((line) => `${' '.repeat(indent)}${line}`),
  ]
  const { runs, sessions, orphans, disk, findings } = data
  const pathOf = (path: string, used = titleColumns): string =>
    truncate(visibleText(shortPath(path)), columns - used, 'middle')
  const left = orphans.count === 0 ? '' : `, ${orphansText(data)}`
  const todo = findings.flatMap((finding) => renderCheck(finding, { ...screen, columns: room }))
  return {
    body: [
      ...section('Home', data.home === null ? 'unusable' : pathOf(data.home)),
      ...section(
        'Temp',
        data.root === null ? 'none yet' : `${pathOf(data.root, titleColumns + left.length)}${left}`,
      ),
      ...section('Disk', `${diskText(disk)}${pointsText(data)}`),
      ...section('Hooks', truncate(hooksText(data), columns - titleColumns)),
      ...section('Workspaces', claimsText(data), claimLines(data, room, shown)),
      ...section(
        'Runs',
        runs.length === 0 ? 'none' : `${runs.length} under way`,
        runLines(data, room, shown),
      ),
      ...section('Sessions', statesText(sessions), sessionLines(data, room, shown)),
    ],
    todo: todo.length === 0 ? section('To do', 'nothing') : section('To do', '', todo),
  }
}

const orphansText = ({ orphans }: StatusData): string =>
  `${plural(orphans.count, 'orphan')} (${orphans.partial ? '≥ ' : ''}${formatBytes(orphans.disk_bytes)})`

/** Home and temp directory are often on one disk. */
function diskText(disk: StatusData['disk']): string {
  const texts = disk.map(({ name, free_bytes: free, total_bytes: total }) => ({
    name,
    text: total === 0 ? 'without a size' : `${formatBytes(free)} free of ${formatBytes(total)}`,
  }))
  const [first, second] = texts
  if (first?.text === second?.text) return first?.text ?? 'unknown'
  return texts.map(({ name, text }) => `${name} ${text}`).join('; ')
}

const pointsText = ({ points }: StatusData): string =>
  points.points === 0 ? '' : `; restore points ${formatBytes(points.bytes)}`

/** `Claude Code, Codex installed; git incomplete`: agents by the state of their hooks. */
function hooksText({ hooks }: StatusData): string {
  const states = [...new Set(hooks.map(({ state }) => state))]
  const texts = states.map((state) => {
    const agents = hooks.filter((hook) => hook.state === state).map(({ agent }) => agentTitle(agent))
    return `${[...new Set(agents)].join(', ')} ${state}`
  })
  return texts.join('; ') || 'none'
}

const claimsText = ({ workspaces }: StatusData): string =>
  workspaces.length === 0 ? 'none is held' : `${workspaces.length} held`

/** A claim, or a session that waits for one. */
interface ClaimRow {
  workspace: string
  session: string
  state: string
  ageMs: number
  process: string | null
  what: string
  who: string
  purpose: string | null
}

const claimColumns: Column<ClaimRow>[] = [
  { title: 'WORKSPACE', cell: (row) => row.workspace, cut: 'middle', least: 14 },
  { title: 'SESSION', cell: (row) => row.session, cut: 'middle', least: 11 },
  { title: 'STATE', cell: (row) => row.state },
  { title: 'AGE', cell: (row) => formatAge(row.ageMs), align: 'right' },
  { title: 'PROCESS', cell: (row) => row.process, cut: 'end', least: 12, spare: 2 },
  { title: 'WHAT', cell: (row) => row.what, cut: 'end', least: 9, spare: 3 },
  { title: 'PURPOSE', cell: (row) => row.purpose, cut: 'end', least: 16, spare: 4 },
  { title: 'WHO', cell: (row) => row.who, cut: 'end', least: 20, spare: 1 },
]

/** The claims, then the sessions that wait. */
function claimLines({ workspaces }: StatusData, room: number, shown: number): string[] {
  const held = workspaces.map(({ claims, waiters, store, ...target }) => {
    const name = target.workspace ?? target.resource
    const workspace = `${shortPath(name)}${store === 'files' ? '' : ` (${store})`}`
    return {
      claims: claims.map((claim) => ({
        workspace,
        session: claim.session_id,
        state: claim.state,
        ageMs: claim.held_ms,
        process: claim.work?.text ?? (claim.pid === null ? null : `pid ${claim.pid}`),
        what: whatOf(claim, target),
        who: originText(claim.origin ?? undefined),
        purpose: claim.purpose,
      })),
      waiters: waiters.map((waiter) => ({
        workspace,
        session: waiter.session_id,
        state: 'waits',
        ageMs: waiter.waited_ms,
        process: `pid ${waiter.pid}`,
        what: whatOf(waiter, target),
        who: originText(waiter.origin ?? undefined),
        purpose: null,
      })),
    }
  })
  const rows: ClaimRow[] = [
    ...held.flatMap(({ claims }) => claims),
    ...held.flatMap(({ waiters }) => waiters),
  ]
  return shortened(rows, claimColumns, room, shown, 'stint lock status --all')
}

/** The first rows of a list, and the command that shows the others. */
function shortened<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  room: number,
  shown: number,
  command: string,
): string[] {
  // The line with the command takes as much room as one more row.
  const rest = rows.length - shown
  if (rest <= 1) return table(rows, columns, room)
  return [...table(rows.slice(0, shown), columns, room), `… ${rest} more: ${command}`]
}

type Run = StatusData['runs'][number]

const runColumns = (root: string | null): Column<Run>[] => [
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

/** The largest runs. */
const runLines = ({ runs, root }: StatusData, room: number, shown: number): string[] =>
  shortened(
    runs.toSorted((a, b) => b.disk_bytes - a.disk_bytes),
    runColumns(root),
    room,
    shown,
    'stint temp list',
  )

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
    const count = sessions.states[state] - first.filter((each) => each.state === state).length
    return count > 0 ? [`… ${count} more ${state}: stint sessions list --state ${state} --all`] : []
  })
  return [...table(first, sessionColumns(at), room), ...rests]
}
