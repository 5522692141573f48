import { defineBareCommand } from '../../command/define-command.ts'
import { formatTime, plural, utcOption } from '../../cli/text/format.ts'
import { table } from '../../cli/text/table.ts'
import { visibleText } from '../../base/text/escape.ts'
import { authorOf, type DescribedSet, listSets, remarksOn } from './describe-sets.ts'
import { openChangeSets, workspaceOption } from './which-sets.ts'

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
      { title: 'ID', cell: ({ id }) => id, cut: 'end', least: 8 },
      { title: 'TIME', cell: ({ began_at }) => formatTime(began_at, zone) },
      { title: 'WHO', cell: authorOf, cut: 'end', least: 8 },
      { title: 'SESSION', cell: ({ session_id }) => session_id, cut: 'middle', least: 9, spare: 1 },
      { title: 'FILES', cell: ({ files }) => files.length, align: 'right' },
      { title: 'ADDED', cell: ({ added }) => `+${added}`, align: 'right' },
      { title: 'REMOVED', cell: ({ removed }) => `-${removed}`, align: 'right', spare: 3 },
      { title: 'STATE', cell: remarksOn },
      { title: 'PROMPT', cell: ({ words }) => words, cut: 'end', least: 10, spare: 2 },
    ],
    columns,
  )
