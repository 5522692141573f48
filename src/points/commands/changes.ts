import { utf8Of } from '../../base/fs/paths.ts'
import { visibleText } from '../../base/text/escape.ts'
import { formatTime, plural, utcOption } from '../../cli/text/format.ts'
import { table } from '../../cli/text/table.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import { type ChangeSet, type PathChange, readChanges, type WorktreeChangeSets } from '../index.ts'
import { chooseSession, openChangeSets, workspaceOption } from './which-sets.ts'

const shownSets = 20

export const changesCommand = defineBareCommand({
  name: 'changes',
  summary:
    'Which session changed what in this workspace, the newest at the end; "outside" is what happened between claims.',
  options: {
    session: {
      type: 'string',
      value: 'ID',
      help: 'only this session: its id, the beginning of it, or its agent',
    },
    all: { type: 'boolean', help: `all that is kept, not only the newest ${shownSets}` },
    ...workspaceOption,
    ...utcOption,
  },
  examples: [
    ['stint changes', 'a row for each turn of an agent'],
    ['stint changes --session claude --all', 'everything that Claude Code changed here'],
    ['stint changes --json', 'with the files of each'],
  ],
  async run(_context, { options: { workspace, session, all } }) {
    const opened = await openChangeSets(workspace)
    const limit = all ? Number.POSITIVE_INFINITY : shownSets
    return { workspace: opened.store.root, ...(await listSets(opened, { session, limit })) }
  },
  render({ workspace, sets, more }, { columns }, { options }) {
    if (sets.length === 0) return nothingChanged(workspace)
    const earlier = more > 0 ? [`${plural(more, 'earlier change set')}: --all shows all`] : []
    return [...earlier, ...setTable(sets, columns, options)].join('\n')
  },
})

/** A change set in the form that answers show. */
export function describeSet(set: ChangeSet, changes: readonly PathChange[]) {
  const count = (side: 'added' | 'removed'): number =>
    changes.reduce((sum, change) => sum + (change[side] ?? 0), 0)
  return {
    id: set.id,
    kind: set.kind,
    session_id: set.session_id ?? null,
    agent: set.agent ?? null,
    words: set.words ?? null,
    began_at: set.from.at,
    ended_at: set.end === 'open' ? null : set.to.at,
    end: set.end,
    complete: set.isComplete,
    head_moved: set.hasMovedHead,
    undone: set.undone,
    undoes: set.undoes,
    added: count('added'),
    removed: count('removed'),
    files: changes.map(({ path, before, after, added = null, removed = null }) => ({
      path: utf8Of(path),
      change: before === undefined ? 'added' : after === undefined ? 'deleted' : 'changed',
      added,
      removed,
    })),
    left_out: leftOutOf([set]),
  }
}

export type DescribedSet = ReturnType<typeof describeSet>

/** The files and directories that the points of these change sets do not have, each with the reason. */
export const leftOutOf = (sets: readonly ChangeSet[]): string[] => [
  ...new Set(sets.flatMap(({ to }) => to.left_out.map(({ path, why }) => `${utf8Of(path)} (${why})`))),
]

/**
 * Describes the newest change sets in which something was changed, oldest first; of one session, or of all.
 * `more` is how many there are before them.
 */
export async function listSets(
  { store, sets }: Pick<WorktreeChangeSets, 'store' | 'sets'>,
  { session, limit }: { session?: string; limit: number },
): Promise<{ sets: DescribedSet[]; more: number }> {
  const sessionId = session === undefined ? undefined : chooseSession(sets, session)
  const candidates = sets.filter(
    ({ from, to, session_id }) =>
      from.tree !== to.tree && (sessionId === undefined || session_id === sessionId),
  )
  // Some have no path that counts: twice as many as are shown suffice.
  const newest = candidates.slice(-2 * limit)
  const changes = await readChanges(store, newest, { countLines: true })
  const described = newest
    .map((set, index) => describeSet(set, changes[index] ?? []))
    .filter(({ files }) => files.length > 0)
    .slice(-limit)
  return { sets: described, more: Math.max(0, candidates.length - described.length) }
}

export const nothingChanged = (workspace: string): string =>
  `nothing was changed in ${visibleText(workspace)} since the first restore point`

/** One line for each change set, and one with the titles. */
export const setTable = (
  sets: readonly DescribedSet[],
  columns: number,
  zone: { utc: boolean },
): readonly string[] =>
  table(
    sets,
    [
      { title: 'ID', cell: ({ id }) => id },
      { title: 'TIME', cell: ({ began_at }) => formatTime(began_at, zone) },
      { title: 'WHO', cell: authorOf, cut: 'end', least: 8 },
      // An undo has a session of its own, which nobody has to know.
      { title: 'SESSION', cell: sessionOf, cut: 'middle', least: 9, spare: 1 },
      { title: 'FILES', cell: ({ files }) => files.length, align: 'right' },
      { title: 'ADDED', cell: ({ added }) => `+${added}`, align: 'right' },
      { title: 'REMOVED', cell: ({ removed }) => `-${removed}`, align: 'right', spare: 3 },
      { title: 'STATE', cell: remarksOn },
      { title: 'PROMPT', cell: ({ words }) => words, cut: 'end', least: 10, spare: 2 },
    ],
    columns,
  )

const sessionOf = ({ kind, session_id }: DescribedSet): string | null => (kind === 'turn' ? session_id : null)

/** The people's name of who made a change set. */
export const authorOf = ({ kind, agent, session_id }: DescribedSet): string =>
  kind === 'turn' ? (agent ?? session_id ?? '') : kind

/** What a reader of a change set must know besides its files. */
function remarksOn({ end, complete, head_moved, undone, kind }: DescribedSet): string {
  const remarks = [
    end === 'open' && 'goes on',
    complete ? end === 'unseen' && 'end not seen' : 'incomplete',
    head_moved && kind !== 'outside' && 'HEAD moved',
    undone === 'yes' && 'undone',
    undone === 'partly' && 'partly undone',
  ]
  return remarks.filter((remark) => remark !== false).join(', ')
}
