import { defineBareCommand } from '../../command/define-command.ts'
import { type TracedPath, tracePath } from '../../sweep/inventory/trace-path.ts'
import { formatBytes } from '../../base/text/size.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { visibleText } from '../../base/text/escape.ts'
import { findRoot } from '../../scratch/index.ts'
import { formatAge } from '../text/format.ts'
import { describeFate, describeOwner } from './describe.ts'

export const tempWhyCommand = defineBareCommand({
  name: 'why',
  summary: 'Tells who made this path (session, run, context, test), and what will become of it.',
  positionals: 'PATH',
  examples: [
    ['stint temp why "$TMPDIR/report.json"', 'a file in a scratch'],
    ['stint temp why /var/tmp/socket --json', 'a path elsewhere that a run tracks'],
  ],
  async run(_, { positionals }) {
    const path = onlyPath(positionals)
    const root = findRoot()
    const found = root && (await tracePath(root, path, Date.now()))
    if (found === undefined) throw notOurs(path, root?.path)
    const { entry, contexts, tracked } = found
    return {
      ...found,
      context: contexts.at(-1)?.name ?? tracked?.context ?? null,
      test_file: contexts.findLast(({ file }) => file !== null)?.file ?? null,
      fate: tracked && !tracked.sweepable ? changedFate : describeFate(entry),
    }
  },
  render: renderWhy,
})

/** A sweep deletes what a dead run tracks only if it is still the same file. */
const changedFate =
  'only its own run removes it: a sweep cannot tell whether it is still what the run tracked'

function onlyPath(positionals: readonly string[]): string {
  const [path, extra] = positionals
  if (path === undefined || path === '' || path.includes('\0') || extra !== undefined)
    throw new StintError('ARG_ERROR', 'give exactly one path')
  return path
}

function notOurs(path: string, root: string | undefined): StintError {
  const where = root === undefined ? 'there is no scratch root' : `it is not in ${root}, and no run tracks it`
  return new StintError('NOT_FOUND', `nothing is known of ${visibleText(path)}: ${where}`, {
    hint: 'Check the path, and STINT_TMP_ROOT: the root is there, or else in the temp directory.',
  })
}

interface WhyData extends TracedPath {
  context: string | null
  test_file: string | null
  fate: string
}

function renderWhy({
  path,
  exists,
  entry,
  parents,
  contexts,
  context,
  test_file,
  tracked,
  fate,
}: WhyData): string {
  const facts: [string, string | null][] = [
    ['belongs to', `${entry.kind} ${entry.path} (${formatBytes(entry.bytes)} in ${entry.files} files)`],
    ['tracked as', tracked && tracked.path],
    ['run', entry.request_id],
    ['by', `${describeOwner(entry)}, ${formatAge(entry.age_ms)} ago`],
    ['session', entry.session_id],
    ...parents.map((parent): [string, string] => ['in run', `${parent.request_id} ${describeOwner(parent)}`]),
    ...contexts.slice(0, -1).map(({ name }): [string, string] => ['in context', name]),
    ['context', context],
    ['test file', test_file],
    ['what next', fate],
  ]
  const lines = facts.flatMap(([name, value]) =>
    value === null ? [] : [`  ${name.padEnd(10)}  ${visibleText(value, 5000)}`],
  )
  return [`${visibleText(path, 5000)}${exists ? '' : ' (gone)'}`, ...lines].join('\n')
}
