import { StintError } from '../../base/errors/stint-error.ts'
import { liveness } from '../../base/process/liveness.ts'
import { visibleText } from '../../base/text/escape.ts'
import { formatBytes } from '../../base/text/size.ts'
import { openStore, storeOption } from '../../cli/store.ts'
import { showWork } from '../../cli/terminal/progress.ts'
import {
  formatAge,
  formatDataSize,
  formatSpace,
  formatTime,
  plural,
  shortPath,
  type Zone,
} from '../../cli/text/format.ts'
import { type Column, table } from '../../cli/text/table.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import { findWorkspace } from '../../lease/index.ts'
import {
  type BuiltInStore,
  type DiskUse,
  type Holder,
  type SessionEvent,
  sessionStates,
  type SessionSummary,
  useKinds,
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
      help: 'newest activity first, or largest first with sizes by kind (newest)',
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
    if (!all && sort !== 'size' && tool === undefined && workspace === undefined && state === undefined)
      return await showWork('reading', context, async () => {
        const { sessions, total } = await listNewest(store, count)
        return { sessions: sessions.map(describeSession), total, space: null }
      })
    const filter = { tool, workspace: workspace === undefined ? undefined : findWorkspace(workspace).path }
    const summaries = await showWork('reading', context, () => store.list(filter))
    const wanted = summaries.filter((summary) => state === undefined || summary.state === state)
    if (sort === 'size') return await showWork('measuring', context, () => listBySize(store, wanted, count))
    return { sessions: wanted.slice(0, count).map(describeSession), total: wanted.length, space: null }
  },
  render({ sessions, total, space }, { columns }) {
    if (total === 0) return 'no sessions'
    const rest = total - sessions.length
    if (space !== null)
      return [
        ...table(sessions as MeasuredSession[], sizeColumns, columns),
        ...(rest > 0 ? [`${rest} smaller: --all shows them`] : []),
        renderSpace(total, space),
      ].join('\n')
    return [
      ...table(sessions, sessionColumns(Date.now()), columns),
      ...(rest > 0 ? [`${plural(rest, 'older one', 'older ones')}: --all shows them`] : []),
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

/** A session with its bytes on disk by kind. */
interface MeasuredSession extends SessionDescription {
  disk: DiskUse['disk']
}

/** The largest sessions, and what all of them and the trash take, in bytes. */
async function listBySize(store: BuiltInStore, wanted: readonly SessionSummary[], count: number) {
  const measured = await store.medium.measure()
  measured.sessions.sort((a, b) => b.disk_bytes - a.disk_bytes || (a.session_id < b.session_id ? -1 : 1))
  const summaries = new Map(wanted.map((summary) => [summary.id, summary]))
  const sessions: MeasuredSession[] = []
  const space = {
    bytes: 0,
    disk_bytes: 0,
    trash_bytes: measured.trash.bytes,
    trash_disk_bytes: measured.trash.disk_bytes,
  }
  for (const { session_id, bytes, disk_bytes, disk } of measured.sessions) {
    const summary = summaries.get(session_id)
    if (summary === undefined) continue
    space.bytes += bytes
    space.disk_bytes += disk_bytes
    if (sessions.length < count) sessions.push({ ...describeSession(summary), bytes, disk_bytes, disk })
  }
  return { sessions, total: wanted.length, space }
}

const sizeColumns: Column<MeasuredSession>[] = [
  { title: 'SIZE', cell: ({ disk_bytes }) => formatBytes(disk_bytes), align: 'right' },
  { title: 'DATA', cell: formatDataSize, align: 'right', spare: 0 },
  ...useKinds.map((kind, index): Column<MeasuredSession> => {
    const cell = ({ disk }: MeasuredSession): string => (disk[kind] === 0 ? '' : formatBytes(disk[kind]))
    return { title: kind.toUpperCase(), cell, align: 'right', spare: useKinds.length - index }
  }),
  { title: 'ID', cell: ({ session_id }) => session_id, cut: 'middle', least: 13 },
]

type Space = Awaited<ReturnType<typeof listBySize>>['space']

function renderSpace(total: number, space: Space): string {
  const trash = { bytes: space.trash_bytes, disk_bytes: space.trash_disk_bytes }
  return `${plural(total, 'session')}, ${formatSpace(space)}; in the trash ${formatSpace(trash)}`
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
  turns: summary.turns,
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
  { title: 'TURNS', cell: (row) => row.turns, align: 'right', spare: 1 },
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
