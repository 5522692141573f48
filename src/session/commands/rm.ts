import { defineBareCommand } from '../../command/define-command.ts'
import { formatBytes } from '../../base/text/size.ts'
import { visibleText } from '../../base/text/escape.ts'
import { wrapLines } from '../../base/text/wrap.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import type { BuiltInStore, SessionSummary } from '../index.ts'
import { formatAge, plural, shortPath } from '../../cli/text/format.ts'
import { confirm } from '../../cli/terminal/confirm.ts'
import { openStore, storeOption } from '../../cli/store.ts'
import { changeSessions } from './change-sessions.ts'
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
    const found = await findSession(store, name)
    ids.add(found.id)
    isExact &&= found.isExact
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
