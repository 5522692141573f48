import { basename } from 'node:path'
import type { Paint } from '../../command/stdio.ts'
import { formatBytes } from '../../base/text/size.ts'
import { visibleText } from '../../base/text/escape.ts'
import { agentTitle } from '../../hook/hosts.ts'
import { renderCheck } from '../health/check.ts'
import { renderClaim, renderWaiters } from '../lock/describe.ts'
import { cell, pathCell, table } from '../text/table.ts'
import { formatAge, plural, shortPath } from '../text/format.ts'
import { renderOwner } from '../temp/render-entries.ts'
import type { StatusData } from './gather.ts'

/** The status as lines for a person. */
interface StatusText {
  body: string[]
  todo: string[]
}

/** Longer lists are cut: there are commands for lists. */
const shownRows = 8

export function renderStatus(data: StatusData, paint: Paint): StatusText {
  const section = (title: string, note: string, lines: readonly string[] = []): string[] => [
    `${paint.bold(title.padEnd(10))}  ${note}`.trimEnd(),
    ...lines.map((line) => `  ${line}`),
  ]
  const { workspaces, runs, sessions, orphans, disk, hooks, findings } = data
  return {
    body: [
      ...section('Home', pathOf(data.home)),
      ...section('Temp', `${pathOf(data.root)}${orphans.count === 0 ? '' : `, ${orphansText(data)}`}`),
      ...section('Disk', diskText(disk)),
      ...section('Hooks', hooks.length === 0 ? 'none' : '', hooks.map(hookLine)),
      ...section(
        'Workspaces',
        workspaces.length === 0 ? 'none is held' : `${workspaces.length} held`,
        capped(workspaces.flatMap(workspaceLines), 'stint lock list'),
      ),
      ...section('Runs', runs.length === 0 ? 'none' : `${runs.length} under way`, runRows(data)),
      ...section('Sessions', statesText(sessions), sessionRows(data)),
    ],
    todo:
      findings.length === 0
        ? section('To do', 'nothing')
        : section(
            'To do',
            '',
            findings.flatMap((finding) => renderCheck(finding, paint)),
          ),
  }
}

const pathOf = (path: string | null): string => (path === null ? 'none yet' : visibleText(shortPath(path)))

const orphansText = ({ orphans }: StatusData): string =>
  `${plural(orphans.count, 'orphan')} (${orphans.partial ? '≥ ' : ''}${formatBytes(orphans.bytes)})`

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

const hookLine = ({ agent, place, path, state }: StatusData['hooks'][number]): string =>
  `${agentTitle(agent)}  ${state}${place === 'user' ? '' : `, ${place}`}  ${visibleText(shortPath(path))}`

function workspaceLines(target: StatusData['workspaces'][number]): string[] {
  const name = target.workspace ?? target.resource
  const where = target.store === 'files' ? '' : `  (${target.store})`
  return [
    `${visibleText(shortPath(name))}${where}`,
    ...target.claims.flatMap((claim) => renderClaim(claim).split('\n')),
    ...renderWaiters(target.waiters),
  ]
}

function capped(lines: readonly string[], command: string): string[] {
  const rest = lines.length - shownRows
  return rest <= 1 ? [...lines] : [...lines.slice(0, shownRows), `… ${rest} more lines: ${command}`]
}

/** A table of at most this many rows. */
function cappedTable(
  titles: readonly string[],
  rows: readonly (readonly string[])[],
  command: string,
): string[] {
  if (rows.length === 0) return []
  const rest = rows.length - shownRows
  const shown = rest <= 1 ? rows : rows.slice(0, shownRows)
  return [...table(titles, shown), ...(rest <= 1 ? [] : [`… ${rest} more: ${command}`])]
}

/** The runs, the largest first. */
const runRows = ({ runs, root }: StatusData): string[] =>
  cappedTable(
    ['>SIZE', '>FILES', '>AGE', 'OWNER', 'SESSION', 'SCRATCH'],
    runs
      .toSorted((a, b) => b.bytes - a.bytes)
      .map((run) => [
        `${run.partial ? '≥ ' : ''}${formatBytes(run.bytes)}`,
        String(run.files),
        formatAge(run.age_ms),
        renderOwner(run),
        run.session_id ?? '',
        root === null ? run.path : basename(run.path),
      ]),
    'stint temp list',
  )

const sessionRows = ({ sessions, at }: StatusData): string[] =>
  cappedTable(
    ['STATE', '>AGE', '>SIZE', '>TURNS', 'TOOL', 'ID', 'WORKSPACE', 'TITLE'],
    sessions.open.map((session) => [
      session.state,
      formatAge(Math.max(0, at - session.last_at)),
      formatBytes(session.bytes),
      String(session.turns),
      cell(session.tool, 16),
      session.session_id,
      pathCell(session.workspace, 40),
      cell(session.title, 40),
    ]),
    'stint sessions list',
  )

function statesText({ total, states }: StatusData['sessions']): string {
  if (total === 0) return 'none'
  const counts = Object.entries(states).filter(([, count]) => count > 0)
  return counts.map(([state, count]) => `${count} ${state}`).join(', ')
}
