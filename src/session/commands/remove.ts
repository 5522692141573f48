import { errorCode, errorMessage, StintError } from '../../base/errors/stint-error.ts'
import { visibleText } from '../../base/text/escape.ts'
import { formatBytes } from '../../base/text/size.ts'
import { wrapLines } from '../../base/text/wrap.ts'
import { openStore, storeOption } from '../../cli/store.ts'
import { confirm } from '../../cli/terminal/print.ts'
import { formatAge, formatSpace, plural, shortPath } from '../../cli/text/format.ts'
import { type Column, table } from '../../cli/text/table.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import { workspacePath } from '../../lease/index.ts'
import { type BuiltInStore, checkSessionId, type RemovedSession, type SessionSummary } from '../index.ts'
import { findSession } from './which-session.ts'

export const rmCommand = defineBareCommand({
  name: 'rm',
  summary:
    'Moves sessions to the trash, from which `stint sessions restore` brings them back. `stint sweep --scope sessions` deletes what is there for good.',
  options: {
    yes: { type: 'boolean', help: 'do not ask; exact ids are never asked about' },
    ...storeOption,
  },
  positionals: 'ID...',
  examples: [
    ['stint sessions rm mine other --yes', '`stint sessions restore mine` brings one back'],
    ['stint sessions prune --state crashed --older-than 30d', 'those that crashed long ago'],
  ],
  async run(context, { options, positionals }) {
    const store = await openStore(options.store, context.warn)
    const { ids, isExact } = await findSessions(store, positionals)
    if (!options.yes && !isExact) {
      const what = ids.length === 1 ? 'it' : `these ${ids.length}`
      const question = `${await describeAll(store, ids)}\nMove ${what} to the trash?`
      await confirm(false, ids.length === 1 ? 'removing a session' : 'removing sessions', question)
    }
    const trash = await removeSessions(store, ids, context.signal)
    return { ...(ids.length === 1 && { session_id: ids[0] }), sessions: ids, trash }
  },
  render({ sessions, trash }, { columns }) {
    const some = sessions.length > 3 ? plural(sessions.length, 'session') : sessions.join(', ')
    const be = sessions.length === 1 ? 'is' : 'are'
    return wrapLines(
      trash === null
        ? `${some} ${be} removed; \`stint sessions restore\` brings back, \`stint postgres purge\` deletes for good`
        : `${some} ${be} in ${shortPath(trash)}`,
      columns,
    )
  },
})

/** The ids of the sessions with these names, and whether each name was a whole id. */
async function findSessions(
  store: BuiltInStore,
  names: readonly string[],
): Promise<{ ids: string[]; isExact: boolean }> {
  if (names.length === 0)
    throw new StintError('ARG_ERROR', 'no session given', {
      hint: 'Give ids; `stint sessions list` shows all, `stint sessions prune` removes old ones.',
    })
  const ids = new Set<string>()
  let isExact = true
  for (const name of names) {
    const session = await findSession(store, name)
    ids.add(session.id)
    isExact &&= session.isExact
  }
  return { ids: [...ids], isExact }
}

const shownAtMost = 10

/** The sessions that are about to be removed, for the user who is asked. */
async function describeAll(store: BuiltInStore, ids: readonly string[]): Promise<string> {
  const all = new Map((await store.list()).map((summary) => [summary.id, summary]))
  const rows = ids.slice(0, shownAtMost).map((id) => {
    const summary = all.get(id)
    // A directory of a session may be too damaged for a list.
    return summary === undefined ? `${id} (damaged)` : describe(summary, Date.now())
  })
  const rest = ids.length - rows.length
  return [...rows, ...(rest > 0 ? [`and ${rest} more`] : [])].join('\n')
}

function describe(summary: SessionSummary, now: number): string {
  const { id, state, title, records, bytes, diskBytes = bytes, lastAt } = summary
  const what = title === undefined ? '' : `${visibleText(title, 60)}, `
  const age = formatAge(Math.max(0, now - lastAt))
  return `${id} (${what}${state}, ${plural(records, 'record')}, ${formatBytes(diskBytes)}, ${age} old)`
}

/** Moves sessions to the trash; returns the directory of the trash, null for a server. */
export async function removeSessions(
  store: BuiltInStore,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<string | null> {
  // First, because this loads code, which may fail.
  const trash = store.medium.files?.trash ?? null
  await changeSessions(ids, signal, (id) => store.remove(id))
  return trash
}

export const pruneCommand = defineBareCommand({
  name: 'prune',
  summary:
    'Says which old sessions it would move to the trash, and with --yes moves them. Sessions in use, and damaged ones, stay.',
  options: {
    keep: { type: 'count', value: 'N', help: 'the newest N stay' },
    'older-than': { type: 'duration', value: 'D', help: 'sessions with a record of the last D stay' },
    state: { type: 'string', choices: ['closed', 'crashed'], help: 'only sessions in this state' },
    workspace: { type: 'string', value: 'DIR', help: 'only those of this workspace; . is the current one' },
    tool: { type: 'string', value: 'NAME', help: 'only those of this program' },
    yes: { type: 'boolean', help: 'move them' },
    ...storeOption,
  },
  examples: [
    ['stint sessions prune --keep 100 --older-than 90d', 'what would go: changes nothing'],
    ['stint sessions prune --keep 100 --older-than 90d --yes', 'and now do it'],
    ['stint sessions prune --state crashed --older-than 30d', 'those that crashed long ago'],
  ],
  async run(context, { options }) {
    const { keep, 'older-than': olderThanMs, state, workspace, tool, yes } = options
    if (keep === undefined && olderThanMs === undefined)
      throw new StintError('ARG_ERROR', 'say what stays: --keep N, --older-than D, or both', {
        hint: 'stint sessions prune --keep 100 --older-than 90d',
      })
    const store = await openStore(options.store, context.warn)
    const filter = { tool, workspace: workspace === undefined ? undefined : workspacePath(workspace) }
    const listed = await store.list(filter)
    const all = listed.filter((summary) => state === undefined || summary.state === state)
    const old = prunable(all, { keep, olderThanMs, now: Date.now() })
    const ids = old.map(({ id }) => id)
    if (yes) await changeSessions(ids, context.signal, (id) => store.remove(id))
    return {
      sessions: ids,
      bytes: old.reduce((sum, { bytes }) => sum + bytes, 0),
      disk_bytes: old.reduce((sum, { bytes, diskBytes = bytes }) => sum + diskBytes, 0),
      kept: all.length - old.length,
      dry_run: !yes,
    }
  },
  render({ sessions, bytes, disk_bytes, kept, dry_run }) {
    const what = `${plural(sessions.length, 'session')}, ${formatSpace({ bytes, disk_bytes })}`
    if (sessions.length === 0) return `nothing to prune: ${plural(kept, 'session stays', 'sessions stay')}`
    if (!dry_run) return `moved to the trash: ${what}; ${kept} stay`
    return [...sessions, `would be moved to the trash: ${what}; ${kept} stay. --yes does it`].join('\n')
  },
})

/** The sessions that are beyond the newest `keep` and older than `olderThanMs`, at rest and intact. */
function prunable(
  sessions: readonly SessionSummary[],
  { keep = 0, olderThanMs = 0, now }: { keep?: number; olderThanMs?: number; now: number },
): SessionSummary[] {
  return sessions
    .slice(keep)
    .filter(({ lastAt, state }) => now - lastAt >= olderThanMs && (state === 'closed' || state === 'crashed'))
}

export const restoreCommand = defineBareCommand({
  name: 'restore',
  summary: 'Brings removed sessions back, as they were; without an id, lists what is in the trash.',
  options: storeOption,
  positionals: '[ID...]',
  examples: [
    ['stint sessions restore', 'what can be brought back'],
    ['stint sessions restore mine', 'the last one that was removed under this id'],
  ],
  async run(context, { options, positionals }) {
    const store = await openStore(options.store, context.warn)
    const removed = await store.medium.removed()
    if (positionals.length === 0) return { trash: removed.map(describeRemoved), restored: [] }
    const wanted = positionals.map((name) => findRemoved(removed, name))
    const names = new Map(wanted.map(({ id, name }) => [id, name]))
    await changeSessions([...names.keys()], context.signal, async (id) => {
      await store.medium.restore(names.get(id) ?? id)
      // If its disk was full, the process that removed the session still seems to hold it. A damaged session
      // keeps that holder.
      await store.unlock(id).catch(() => {})
      await noteRestore(store, id, context.warn)
    })
    return { trash: null, restored: [...names.keys()] }
  },
  render({ trash, restored }, { columns }) {
    if (trash === null) return `${restored.join(', ')} ${restored.length === 1 ? 'is' : 'are'} back`
    return trash.length === 0 ? 'the trash has no sessions' : table(trash, trashColumns, columns).join('\n')
  },
})

const trashColumns: Column<ReturnType<typeof describeRemoved>>[] = [
  { title: 'ID', cell: ({ name }) => name, cut: 'middle', least: 20 },
  {
    title: 'REMOVED',
    cell: ({ removed_at }) => `${formatAge(Math.max(0, Date.now() - removed_at))} ago`,
    align: 'right',
  },
  { title: 'TITLE', cell: ({ title }) => title, cut: 'end', least: 14 },
]

const describeRemoved = ({ name, id, title, removedAt }: RemovedSession) => ({
  name,
  session_id: id,
  title: title ?? null,
  removed_at: removedAt,
})

/** The newest removed session with this id, or the one that a name or a prefix identifies. */
function findRemoved(removed: readonly RemovedSession[], name: string): RemovedSession {
  checkSessionId(name)
  const exact = removed.find((session) => session.name === name || session.id === name)
  if (exact !== undefined) return exact
  const candidates = removed.filter(({ id }) => id.startsWith(name) || id.startsWith(`ses_${name}`))
  const [first] = candidates
  const ids = [...new Set(candidates.map(({ id }) => id))]
  if (first !== undefined && ids.length === 1) return first
  if (first === undefined)
    throw new StintError('NOT_FOUND', `there is no session ${name} in the trash`, {
      hint: '`stint sessions restore` lists what is there.',
    })
  throw new StintError(
    'ARG_ERROR',
    `${name} matches ${ids.length} sessions: ${ids.slice(0, 10).join(', ')}`,
    {
      hint: 'Give more of the id.',
      facts: { candidates: ids },
    },
  )
}

/** Leaves an audit line in the session. One that is damaged takes none, and is back all the same. */
async function noteRestore(store: BuiltInStore, id: string, warn: (message: string) => void): Promise<void> {
  await store
    .visit(id, (visit) => visit.audit({ action: 'restore', subject: 'from the trash' }))
    .catch(() => {
      warn(`${id} is back, and cannot be written to: stint sessions verify ${id} says why`)
    })
}

/** A session that a command could not change. */
interface Unchanged {
  session_id: string
  code: string
  message: string
}

interface Changes {
  changed: { session_id: string }[]
  failed: Unchanged[]
}

/**
 * Changes one session after the other, and goes on if one fails. Throws when none is left if any has failed,
 * with everything that was done as `data`.
 */
export async function changeSessions(
  ids: readonly string[],
  signal: AbortSignal,
  change: (id: string) => Promise<void>,
): Promise<void> {
  const changes: Changes = { changed: [], failed: [] }
  let first: unknown
  for (const id of ids) {
    signal.throwIfAborted()
    try {
      await change(id)
      changes.changed.push({ session_id: id })
    } catch (error) {
      first ??= error
      const code = errorCode(error) ?? 'INTERNAL'
      changes.failed.push({ session_id: id, code, message: errorMessage(error) })
    }
  }
  if (first === undefined) return
  if (!(first instanceof StintError) || ids.length === 1) throw first
  const more = changes.failed.length - 1
  throw new StintError(first.code, `${first.message}${more === 0 ? '' : ` (and ${more} more)`}`, {
    cause: first,
    hint: first.hint,
    data: changes,
    // The identical call would find fewer sessions.
    retryable: first.retryable && changes.changed.length === 0,
  })
}
