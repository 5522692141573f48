import { StintError } from '../../base/errors/stint-error.ts'
import { liveness } from '../../base/process/liveness.ts'
import { visibleText } from '../../base/text/escape.ts'
import { formatBytes } from '../../base/text/size.ts'
import { openStore, storeOption } from '../../cli/store.ts'
import { showWork } from '../../cli/terminal/progress.ts'
import { formatAge, formatDataSize, formatTime, plural, shortPath, type Zone } from '../../cli/text/format.ts'
import { type Column, table } from '../../cli/text/table.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import { workspacePath } from '../../lease/index.ts'
import {
  type BuiltInStore,
  type Holder,
  type SessionEvent,
  sessionStates,
  type SessionSummary,
} from '../index.ts'

const defaultLimit = 20

export const listCommand = defineBareCommand({
  name: 'list',
  summary: 'The newest sessions, or the largest: what they are, their state, and their size.',
  options: {
    all: { type: 'boolean', help: 'every session, not only the first ones' },
    limit: { type: 'count', short: 'n', value: 'N', help: `how many (${defaultLimit})` },
    sort: {
      type: 'string',
      choices: ['newest', 'size'],
      help: 'newest activity first, or largest first (newest)',
    },
    workspace: {
      type: 'string',
      value: 'DIR',
      help: 'only sessions of this workspace; . is the current one',
    },
    tool: { type: 'string', value: 'NAME', help: 'only sessions of this program' },
    state: { type: 'string', choices: sessionStates, help: 'only sessions in this state' },
    ...storeOption,
  },
  examples: [
    ['stint sessions list', 'the newest 20'],
    ['stint sessions list -n 3', 'the newest three'],
    ['stint sessions list --sort size', 'what fills the disk'],
    ['stint sessions list --workspace . --state crashed', 'sessions that crashed here'],
    ['stint sessions list --all --json', 'everything, for scripts'],
  ],
  async run(context, { options }) {
    const { all, limit, workspace, tool, state, sort } = options
    if (all && limit !== undefined) throw new StintError('ARG_ERROR', '--all and --limit exclude each other')
    const store = await openStore(options.store, context.warn)
    const count = all ? Number.POSITIVE_INFINITY : (limit ?? defaultLimit)
    const isFiltered = tool !== undefined || workspace !== undefined || state !== undefined
    return await showWork('reading', context, async () => {
      if (!all && !isFiltered && sort !== 'size') {
        const { sessions, total } = await listNewest(store, count)
        return { sessions: sessions.map(describeSession), total }
      }
      const filter = { tool, workspace: workspace === undefined ? undefined : workspacePath(workspace) }
      const summaries = await store.list(filter)
      const sessions = summaries
        .filter((summary) => state === undefined || summary.state === state)
        .map(describeSession)
      if (sort === 'size') sessions.sort((a, b) => b.disk_bytes - a.disk_bytes)
      return { sessions: sessions.slice(0, count), total: sessions.length }
    })
  },
  render({ sessions, total }, { columns }, { options }) {
    if (total === 0) return 'no sessions'
    const rest = total - sessions.length
    const which = options.sort === 'size' ? 'smaller' : 'older'
    return [
      ...table(sessions, sessionColumns(Date.now()), columns),
      ...(rest > 0 ? [`${plural(rest, `${which} one`, `${which} ones`)}: --all shows them`] : []),
    ].join('\n')
  },
})

/** The newest sessions, and how many there are. The others are counted by their ids, and not read. */
export async function listNewest(
  store: BuiltInStore,
  count: number,
): Promise<{ sessions: SessionSummary[]; total: number }> {
  const sessions = await store.list({ newest: count })
  const total = sessions.length < count ? sessions.length : (await store.medium.ids('')).length
  return { sessions, total }
}

/** A session as JSON answers show it. */
export const describeSession = (summary: SessionSummary) => ({
  session_id: summary.id,
  state: summary.state,
  key: summary.key ?? null,
  labels: summary.labels ?? {},
  tool: summary.tool ?? null,
  title: summary.title ?? null,
  workspace: summary.workspace ?? null,
  created_at: summary.createdAt,
  last_at: summary.lastAt,
  records: summary.records,
  bytes: summary.bytes,
  disk_bytes: summary.diskBytes ?? summary.bytes,
  holder: summary.holder === undefined ? null : describeHolder(summary.holder),
})

export type SessionDescription = ReturnType<typeof describeSession>

/** The columns of a list of sessions. */
export const sessionColumns = (now: number): Column<SessionDescription>[] => [
  { title: 'ID', cell: (row) => row.session_id, cut: 'middle', least: 13 },
  { title: 'STATE', cell: (row) => row.state },
  { title: 'AGE', cell: (row) => formatAge(Math.max(0, now - row.last_at)), align: 'right' },
  { title: 'SIZE', cell: (row) => formatBytes(row.disk_bytes), align: 'right', spare: 2 },
  { title: 'DATA', cell: formatDataSize, align: 'right', spare: 0 },
  { title: 'RECORDS', cell: (row) => row.records, align: 'right', spare: 1 },
  { title: 'TOOL', cell: (row) => row.tool, cut: 'end', least: 6, spare: 3 },
  { title: 'WORKSPACE', cell: (row) => shortPath(row.workspace ?? ''), cut: 'middle', least: 12 },
  { title: 'TITLE', cell: (row) => row.title ?? row.key, cut: 'end', least: 22 },
]

export const describeHolder = ({ process: owner, since, beat, kind, purpose }: Holder) => ({
  pid: owner.pid,
  liveness: liveness(owner),
  since,
  beat,
  kind,
  purpose: purpose ?? null,
})

/** Formats an event as one line of text. */
export function renderEvent(event: SessionEvent, zone: Zone): string {
  const { seq, at, type, data } = event
  return visibleText(`${seq}  ${formatTime(at, zone)}  ${type}  ${JSON.stringify(data) ?? ''}`)
}
