import { StintError } from '../../base/errors/stint-error.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import { checkSessionId, type BuiltInStore, type RemovedSession } from '../index.ts'
import { openStore, storeOption } from '../../cli/store.ts'
import { formatAge } from '../../cli/text/format.ts'
import { type Column, table } from '../../cli/text/table.ts'
import { changeSessions } from './change-sessions.ts'

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
    const wanted = positionals.map((given) => findRemoved(removed, given))
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
function findRemoved(removed: readonly RemovedSession[], given: string): RemovedSession {
  checkSessionId(given)
  const exact = removed.find(({ name, id }) => name === given || id === given)
  if (exact !== undefined) return exact
  const candidates = removed.filter(({ id }) => id.startsWith(given) || id.startsWith(`ses_${given}`))
  const [first] = candidates
  const ids = [...new Set(candidates.map(({ id }) => id))]
  if (first !== undefined && ids.length === 1) return first
  if (first === undefined)
    throw new StintError('NOT_FOUND', `there is no session ${given} in the trash`, {
      hint: '`stint sessions restore` lists what is there.',
    })
  throw new StintError(
    'ARG_ERROR',
    `${given} matches ${ids.length} sessions: ${ids.slice(0, 10).join(', ')}`,
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
