import { defineBareCommand } from '../../command/define-command.ts'
import type { DriverStore, SessionSummary } from '../../session/index.ts'
import { wrapLines } from '../../base/text/wrap.ts'
import { plural, shortPath } from '../text/format.ts'
import { confirm } from '../terminal/confirm.ts'
import { openStore, storeOption } from '../store.ts'
import { changeSessions } from './change-sessions.ts'
import { renderSelection, selectOptions, selectSessions } from './select-sessions.ts'

export const rmCommand = defineBareCommand({
  name: 'rm',
  summary:
    'Moves sessions to the trash, from which `stint sessions restore` brings them back. `stint sweep --scope sessions` deletes what is there for good.',
  options: {
    ...selectOptions,
    'dry-run': { type: 'boolean', help: 'say which; change nothing' },
    yes: { type: 'boolean', help: 'do not ask; exact ids are never asked about' },
    ...storeOption,
  },
  positionals: '[ID...]',
  examples: [
    ['stint sessions rm mine other --yes', '`stint sessions restore mine` brings one back'],
    ['stint sessions rm --state crashed --older-than 30d', 'all that crashed long ago; asks first'],
  ],
  async run(context, { options, positionals }) {
    const store = await openStore(options.store, context.warn)
    const { sessions, isExact } = await selectSessions(store, positionals, options)
    const dryRun = options['dry-run']
    const ids = sessions.map(({ id }) => id)
    if (!dryRun && sessions.length > 0) {
      const what = sessions.length === 1 ? 'it' : `these ${sessions.length}`
      const question = `${renderSelection(sessions, Date.now())}\nMove ${what} to the trash?`
      await confirm(
        options.yes || isExact,
        sessions.length === 1 ? 'removing a session' : 'removing sessions',
        question,
      )
    }
    const trash = await removeSessions(store, dryRun ? [] : sessions, context.signal)
    return { ...(ids.length === 1 && { session_id: ids[0] }), sessions: ids, dry_run: dryRun, trash }
  },
  render({ sessions, dry_run, trash }, { columns }) {
    if (sessions.length === 0) return 'no such sessions'
    const some = sessions.length > 3 ? plural(sessions.length, 'session') : sessions.join(', ')
    if (dry_run) return `would be moved to the trash: ${sessions.join(', ')}`
    const be = sessions.length === 1 ? 'is' : 'are'
    return wrapLines(
      trash === null
        ? `${some} ${be} removed; \`stint sessions restore\` brings back, \`stint postgres purge\` deletes for good`
        : `${some} ${be} in ${shortPath(trash)}`,
      columns,
    )
  },
})

/** Moves sessions to the trash; returns the directory of the trash, null for a server. */
export async function removeSessions(
  store: DriverStore,
  sessions: readonly SessionSummary[],
  signal: AbortSignal,
): Promise<string | null> {
  // First, because this loads code, which may fail.
  const trash = (await store.driver.files?.())?.trash ?? null
  await changeSessions(sessions, signal, (id) => store.remove(id))
  return trash
}
