import { basename } from 'node:path'
import type { Screen } from '../../command/stdio.ts'
import { truncate } from '../../base/text/display-width.ts'
import { formatBytes } from '../../base/text/size.ts'
import { visibleText } from '../../base/text/escape.ts'
import { agentTitle } from '../../hook/hosts.ts'
import type { SessionState } from '../../session/index.ts'
import { renderCheck } from '../health/check.ts'
import { renderClaim, renderWaiters, targetName } from '../lock/describe.ts'
import { sessionColumns } from '../sessions/describe.ts'
import { type Column, table } from '../text/table.ts'
import { formatAge, shortPath } from '../text/format.ts'
import { renderOwner } from '../temp/render-entries.ts'
import type { StatusData } from './gather.ts'

/** The status as lines for a person. */
interface StatusText {
  body: string[]
  todo: string[]
}

/** Longer lists are cut, so that everything fits one screen; each names the command that shows the rest. */
const shownRows = 3
const shownWorkspaceLines = 6

const indent = 2
const titleColumns = 12

export function renderStatus(data: StatusData, { columns, paint }: Screen): StatusText {
  const room = columns - indent
  const section = (title: string, note: string, lines: readonly string[] = []): string[] => [
    `${paint.bold(title.padEnd(titleColumns - 2))}  ${note}`.trimEnd(),
    ...lines.map((line) => `${' '.repeat(indent)}${line}`),
  ]
  const { runs, sessions, orphans, disk, hooks, findings } = data
  const pathOf = (path: string | null, used = titleColumns): string =>
    path === null ? 'none yet' : truncate(visibleText(shortPath(path)), columns - used, 'middle')
  const left = orphans.count === 0 ? '' : `, ${orphansText(data)}`
  return {
    body: [
      ...section('Home', pathOf(data.home)),
      ...section('Temp', `${pathOf(data.root, titleColumns + left.length)}${left}`),
      ...section('Disk', diskText(disk)),
      ...section('Hooks', hooks.length === 0 ? 'none' : '', hookLines(data, room)),
      ...section('Workspaces', claimsText(data), workspaceLines(data, room)),
      ...section('Runs', runs.length === 0 ? 'none' : `${runs.length} under way`, runLines(data, room)),
      ...section('Sessions', statesText(sessions), sessionLines(data, room)),
    ],
    todo:
      findings.length === 0
        ? section('To do', 'nothing')
        : section(
            'To do',
            '',
            findings.flatMap((finding) => renderCheck(finding, { columns: room, paint })),
          ),
  }
}

const orphansText = ({ orphans }: StatusData): string =>
  `${orphans.count} ${orphans.count === 1 ? 'orphan' : 'orphans'} (${orphans.partial ? '≥ ' : ''}${formatBytes(orphans.bytes)})`

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

const hookColumns: Column<StatusData['hooks'][number]>[] = [
  { title: '', cell: ({ agent }) => agentTitle(agent) },
  { title: '', cell: ({ state, place }) => `${state}${place === 'user' ? '' : `, ${place}`}` },
  { title: '', cell: ({ path }) => shortPath(path), cut: 'middle', least: 12 },
]

const hookLines = ({ hooks }: StatusData, room: number): string[] => table(hooks, hookColumns, room).slice(1)

/** How many workspaces are held. A claim that the next session gets anyway is counted apart. */
function claimsText({ workspaces }: StatusData): string {
  const held = workspaces.filter(({ claims }) => claims.some(isInForce)).length
  const left = workspaces.length - held
  const text = held === 0 ? 'none is held' : `${held} held`
  return left === 0 ? text : `${text}, ${left} left by sessions that are gone: free for the next one`
}

const isInForce = ({ standing }: StatusData['workspaces'][number]['claims'][number]): boolean =>
  standing === 'busy' || standing === 'fresh'

function workspaceLines({ workspaces }: StatusData, room: number): string[] {
  const lines = workspaces
    .toSorted((a, b) => Number(b.claims.some(isInForce)) - Number(a.claims.some(isInForce)))
    .flatMap((target) => [
      `${targetName(target.workspace ?? target.resource, room)}${target.store === 'files' ? '' : `  (${target.store})`}`,
      ...target.claims.flatMap((claim) => renderClaim(claim, room)),
      ...renderWaiters(target.waiters, room),
    ])
  const rest = lines.length - shownWorkspaceLines
  if (rest <= 1) return lines
  return [...lines.slice(0, shownWorkspaceLines), `… ${rest} more lines: stint lock list`]
}

type Run = StatusData['runs'][number]

const runColumns = (root: string | null): Column<Run>[] => [
  { title: 'SIZE', cell: (run) => `${run.partial ? '≥ ' : ''}${formatBytes(run.bytes)}`, align: 'right' },
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
function runLines({ runs, root }: StatusData, room: number): string[] {
  const largest = runs.toSorted((a, b) => b.bytes - a.bytes)
  const rest = runs.length - shownRows
  return [
    ...table(rest <= 1 ? largest : largest.slice(0, shownRows), runColumns(root), room),
    ...(rest <= 1 ? [] : [`… ${rest} more: stint temp list`]),
  ]
}

function statesText({ total, states }: StatusData['sessions']): string {
  if (total === 0) return 'none'
  const counts = Object.entries(states).filter(([, count]) => count > 0)
  return counts.map(([state, count]) => `${count} ${state}`).join(', ')
}

/** The states that matter most, first. */
const stateOrder: readonly SessionState[] = ['damaged', 'locked', 'active', 'crashed']

/** The open sessions that matter most, and for each state the command that shows the others. */
function sessionLines({ sessions, at }: StatusData, room: number): string[] {
  const open = sessions.open.toSorted((a, b) => stateOrder.indexOf(a.state) - stateOrder.indexOf(b.state))
  const hidden = open.length - shownRows
  const shown = hidden <= 1 ? open : open.slice(0, shownRows)
  const rests = stateOrder.flatMap((state) => {
    const count = sessions.states[state] - shown.filter((each) => each.state === state).length
    return count > 0 ? [`… ${count} more ${state}: stint sessions list --state ${state}`] : []
  })
  return [...table(shown, sessionColumns(at), room), ...rests]
}
