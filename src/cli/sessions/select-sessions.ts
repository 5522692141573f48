import { StintError } from '../../base/errors/stint-error.ts'
import { formatBytes } from '../../base/text/size.ts'
import { visibleText } from '../../base/text/escape.ts'
import type { OptionTable } from '../../command/option.ts'
import { findWorkspace } from '../../lease/index.ts'
import { type DriverStore, sessionStates, type SessionSummary } from '../../session/index.ts'
import { formatAge, plural } from '../text/format.ts'
import { findSession } from './which-session.ts'

/** Options that select sessions in place of ids. */
export const selectOptions = {
  state: { type: 'string', choices: sessionStates, help: 'all sessions in this state, instead of ids' },
  'older-than': { type: 'duration', value: 'D', help: 'only those without a record for this long: 30d' },
  workspace: { type: 'string', value: 'DIR', help: 'only those of this workspace; . is the current one' },
  tool: { type: 'string', value: 'NAME', help: 'only those of this program' },
} as const satisfies OptionTable

interface Selection {
  state?: string
  'older-than'?: number
  workspace?: string
  tool?: string
}

/** Lists sessions by workspace and program; `.` is the current workspace. */
export const listSelected = (store: DriverStore, { workspace, tool }: Selection): Promise<SessionSummary[]> =>
  store.list({ tool, workspace: workspace === undefined ? undefined : findWorkspace(workspace).path })

/** The sessions that a command is about. */
interface SelectedSessions {
  sessions: SessionSummary[]
  /** Whether the whole id of each was given. */
  isExact: boolean
}

/** The sessions that a command is about: those with these names, or all that the options select. */
export async function selectSessions(
  store: DriverStore,
  names: readonly string[],
  options: Selection,
): Promise<SelectedSessions> {
  const { state, 'older-than': olderThanMs, workspace, tool } = options
  const isSelection = [state, olderThanMs, workspace, tool].some((each) => each !== undefined)
  if (names.length > 0 && isSelection)
    throw new StintError('ARG_ERROR', 'give ids, or options that select sessions, not both')
  if (names.length === 0 && state === undefined)
    throw new StintError('ARG_ERROR', 'no session given', {
      hint: 'Give ids, or --state and other options; `stint sessions list` shows all.',
    })
  if (names.length === 0) {
    const before = Date.now() - (olderThanMs ?? 0)
    const listed = await listSelected(store, options)
    const sessions = listed.filter((each) => each.state === state && each.lastAt <= before)
    return { sessions, isExact: false }
  }
  const ids = new Set<string>()
  let isExact = true
  for (const name of names) {
    const found = await findSession(store, name)
    ids.add(found.id)
    isExact &&= found.isExact
  }
  const all = new Map((await store.list()).map((summary) => [summary.id, summary]))
  // A directory of a session may be too damaged for a list.
  return { sessions: [...ids].map((id) => all.get(id) ?? unlisted(id, store)), isExact }
}

const unlisted = (id: string, { id: store }: DriverStore): SessionSummary => ({
  id,
  store,
  state: 'damaged',
  createdAt: 0,
  lastAt: 0,
  turns: 0,
  records: 0,
  bytes: 0,
})

const shownAtMost = 10

/** The sessions that a command is about to change, for the user who is asked. */
export function renderSelection(sessions: readonly SessionSummary[], now: number): string {
  const rows = sessions
    .slice(0, shownAtMost)
    .map(({ id, state, title, records, bytes, diskBytes = bytes, lastAt }) => {
      const what = title === undefined ? '' : `${visibleText(title, 60)}, `
      const age = lastAt === 0 ? '' : `, ${formatAge(Math.max(0, now - lastAt))} old`
      return `${id} (${what}${state}, ${plural(records, 'record')}, ${formatBytes(diskBytes)}${age})`
    })
  const rest = sessions.length - rows.length
  return [...rows, ...(rest > 0 ? [`and ${rest} more`] : [])].join('\n')
}
