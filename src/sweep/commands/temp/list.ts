import { wrap } from '../../../base/text/wrap.ts'
import { defineBareCommand } from '../../../command/define-command.ts'
import { findRoot } from '../../../scratch/index.ts'
import { measureEntries, sortEntries, sumEntries } from '../../index.ts'
import { showWork } from '../../../cli/terminal/progress.ts'
import { formatSpace, plural, shortPath } from '../../../cli/text/format.ts'
import { renderEntries } from './render-entries.ts'

export const tempListCommand = defineBareCommand({
  name: 'list',
  summary:
    'Every scratch, output, trash entry and tracked record: whose, how big, how old, what a sweep would do.',
  options: {
    sort: { type: 'string', choices: ['size', 'age', 'name'], help: 'the largest or oldest first (size)' },
  },
  examples: [
    ['stint temp list', 'the largest first'],
    ['stint temp list --sort age --json', 'the oldest first, for scripts'],
  ],
  async run(context, { options }) {
    const measured = await showWork('measuring', context, () => measureEntries())
    const entries = sortEntries(measured, options.sort ?? 'size')
    const total = sumEntries(entries)
    return { root: findRoot()?.path ?? null, entries, total }
  },
  render: ({ root, entries, total }, { columns }) =>
    root === null || entries.length === 0
      ? 'nothing there'
      : [
          ...renderEntries(entries, root, columns),
          ...wrap(
            `${total.entries} in ${shortPath(root)}: ${formatSpace(total)} in ${plural(total.files, 'file')}; ` +
              `${total.live} live, ${plural(total.orphans, 'orphan')}`,
            columns,
          ),
        ].join('\n'),
})
