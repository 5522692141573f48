import { StintError } from '../../../base/errors/stint-error.ts'
import { visibleText } from '../../../base/text/escape.ts'
import { defineBareCommand } from '../../../command/define-command.ts'
import { findRoot } from '../../../scratch/index.ts'
import { type TempEntry, type TracedPath, tracePath } from '../../index.ts'
import { formatAge, formatSpace, plural } from '../../../cli/text/format.ts'
import { renderOwner } from './render-entries.ts'

export const tempWhyCommand = defineBareCommand({
  name: 'why',
  summary: 'Shows which run, session, context and test made this path, and what will become of it.',
  positionals: 'PATH',
  examples: [
    ['stint temp why "$TMPDIR/report.json"', 'a file in a scratch'],
    ['stint temp why /var/tmp/socket --json', 'a path elsewhere that a run tracks'],
  ],
  async run(_, { positionals: [path] }) {
    if (path === '' || path.includes('\0')) throw new StintError('ARG_ERROR', 'this cannot be a path')
    const found = await tracePath(path, Date.now())
    if (found === undefined) throw notFound(path)
    const { entry, contexts, tracked } = found
    return {
      ...found,
      context: contexts.at(-1)?.name ?? tracked?.context ?? null,
      test_file: contexts.findLast(({ file }) => file !== null)?.file ?? null,
      fate: tracked && !tracked.sweepable ? unprovenFate : fates[entry.reason],
    }
  },
  render: renderWhy,
})

/** A sweep deletes a path that a dead run tracked only if it is still the same file. */
const unprovenFate =
  'only its own run removes it: a sweep cannot tell whether it is still what the run tracked'

const fates: Record<TempEntry['reason'], string> = {
  'owner-dead': 'the next sweep removes it: its run is dead',
  'unknown-and-old': 'the next sweep removes it: it is unknown whether its run is alive, and it is old',
  'ownerless-and-old': 'the next sweep removes it: it names no owner, and is old',
  expired: 'the next sweep removes it: its time is over',
  trash: 'it is being deleted; if not, the next sweep deletes it',
  superseded: 'the next sweep removes it: enough newer ones are kept',
  'removed-session': 'a sweep of sessions removes it',
  'unfinished-session': 'a sweep of sessions removes it',
  'ended-claims': 'its claims are those of sessions that are gone',
  'old-points': 'points of more than 14 days, or over 2 GiB, are removed',
  'owner-alive': 'it is removed when its run ends',
  'child-alive': 'it stays: its run is dead, but a child of it is alive',
  'owner-unknown': 'it stays for a day: it is unknown whether its run is alive',
  unreadable: 'it stays: it cannot be read, and its owner may be alive',
  tracked: 'the next sweep removes it: its run is dead',
  ownerless: 'it stays for a day: it names no owner',
  'kept-on-purpose': 'it is kept on purpose, until ten newer ones are kept',
  'not-expired': 'it stays until its time is over',
  'too-young': 'it stays: it is too young',
  'foreign-owner': 'it stays: it belongs to another user',
  symlink: 'it stays: a symbolic link is never followed',
  'not-stint': 'it stays: it does not belong to stint',
}

function notFound(path: string): StintError {
  const root = findRoot()?.path
  const where = root === undefined ? 'there is no scratch root' : `it is not in ${root}, and no run tracks it`
  return new StintError('NOT_FOUND', `nothing is known about ${visibleText(path)}: ${where}`, {
    hint: 'Check the path, and STINT_TMP_ROOT: it names the directory with the scratch root.',
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
    ['belongs to', `${entry.kind} ${entry.path} (${formatSpace(entry)} in ${plural(entry.files, 'file')})`],
    ['tracked as', tracked && tracked.path],
    ['run', entry.request_id],
    ['by', `${renderOwner(entry)}, ${formatAge(entry.age_ms)} ago`],
    ['session', entry.session_id],
    ...parents.map((parent): [string, string] => ['in run', `${parent.request_id} ${renderOwner(parent)}`]),
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
