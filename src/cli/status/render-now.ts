import { truncate } from '../../base/text/wrap.ts'
import { agentTitle } from '../../hooks/index.ts'
import { whatOf } from '../../lease/commands/describe.ts'
import { originText } from '../../lease/index.ts'
import { formatAge, shortPath } from '../text/format.ts'
import { type Column, table } from '../text/table.ts'
import type { AgentData, StatusData } from './gather.ts'

/** Shown in place of a part that did not answer in time. */
export const late = '…'

/** A line for each agent: `Codex 0.166.0  hooks in`. */
export function agentLines({ agents }: StatusData, room: number): string[] {
  if (agents.length === 0) return ['none found']
  const names = agents.map(({ title, version }) => (version === null ? title : `${title} ${version}`))
  const width = Math.max(...names.map(({ length }) => length)) + 2
  return agents.map((agent, index) =>
    truncate(`${(names[index] ?? '').padEnd(width)}${hooksText(agent)}`, room),
  )
}

function hooksText({ hooks, trust, undo }: AgentData): string {
  if (hooks === 'absent') return 'no hooks'
  if (hooks !== 'installed') return `hooks ${hooks}`
  if (trust === 'untrusted') return 'hooks in, not trusted yet'
  const choice = undo ? '' : ', without restore points'
  return trust === 'unknown' ? `hooks in${choice}, trusted: ${late}` : `hooks in${choice}`
}

/** A session that holds a workspace or waits for one, or an agent that does neither. */
interface Party {
  who: string
  /** In the words of the page. */
  state: 'working' | 'background' | 'waiting' | 'idle'
  ageMs: number
  where: string
  task: string | null
  session: string | null
  paths: string
  doing: string | null
  terminal: string
}

const partyColumns: readonly Column<Party>[] = [
  { title: 'WHO', cell: ({ who }) => who, cut: 'middle', least: 8 },
  { title: 'STATE', cell: ({ state }) => state },
  { title: 'FOR', cell: ({ ageMs }) => formatAge(ageMs), align: 'right' },
  { title: 'WHERE', cell: ({ where }) => where, cut: 'middle', least: 14 },
  { title: 'TASK', cell: ({ task }) => task, cut: 'end', least: 10, spare: 5 },
]

const detailColumns: readonly Column<Party>[] = [
  { title: 'DOES', cell: ({ doing }) => doing, cut: 'end', least: 12, spare: 3 },
  { title: 'FILES', cell: ({ paths }) => paths, cut: 'end', least: 9, spare: 4 },
  { title: 'SESSION', cell: ({ session }) => session, cut: 'middle', least: 11, spare: 2 },
  { title: 'TERMINAL', cell: ({ terminal }) => terminal, cut: 'end', least: 20, spare: 1 },
]

/** Sessions that hold a workspace, those that wait for one, then agents that run and do neither. */
function partiesOf({ workspaces, running, at }: StatusData): Party[] {
  const holders = workspaces.flatMap(({ claims, store, ...target }) =>
    claims.map((claim) => ({
      ...claim,
      ...placeOf(claim, store, target),
      state: claim.state === 'leftover' ? ('background' as const) : ('working' as const),
      ageMs: claim.held_ms,
      task: claim.origin?.prompt ?? claim.purpose,
      doing: claim.work?.text ?? (claim.pid === null ? null : `pid ${claim.pid}`),
    })),
  )
  const waiters = workspaces.flatMap((workspace) =>
    workspace.waiters.map((waiter) => ({
      ...waiter,
      ...placeOf(waiter, workspace.store, workspace),
      state: 'waiting' as const,
      ageMs: waiter.waited_ms,
      task: waiter.origin?.prompt ?? null,
      doing: `pid ${waiter.pid}`,
    })),
  )
  const busy = [...holders, ...waiters]
  const idle = running.filter(({ is_busy }) => !is_busy)
  return [
    ...busy,
    ...idle.map(({ agent, directory, started_at, session_id, pid }) => ({
      who: agentTitle(agent),
      state: 'idle' as const,
      where: shortPath(directory ?? late),
      ageMs: Math.max(0, at - started_at),
      task: null,
      session: session_id,
      paths: '',
      doing: `pid ${pid}`,
      terminal: '',
    })),
  ]
}

type Workspace = StatusData['workspaces'][number]

/** The agent or session of a claim or waiter, and its place. A known agent's session has its own column. */
function placeOf(
  party: Workspace['claims'][number] | Workspace['waiters'][number],
  store: Workspace['store'],
  target: Pick<Workspace, 'workspace' | 'resource'>,
) {
  const { session_id, origin } = party
  const agent = origin?.agent
  return {
    who: agent ? agentTitle(agent) : session_id,
    session: agent ? session_id : null,
    where: `${shortPath(target.workspace ?? target.resource ?? '')}${store === 'files' ? '' : ` (${store})`}`,
    paths: whatOf(party, target),
    terminal: originText(origin ?? undefined),
  }
}

/** The table of working sessions; `isLong` adds the columns of `stint status`. */
export function nowLines(data: StatusData, room: number, shown: number, isLong: boolean): string[] {
  const parties = partiesOf(data)
  const columns = isLong ? [...partyColumns, ...detailColumns] : partyColumns
  if (parties.length === 0) return ['no agent is at work']
  return firstRows(parties, columns, room, shown, 'stint lock status --all')
}

/** The first rows of a list, and the command that shows the others. */
export function firstRows<Row>(
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
