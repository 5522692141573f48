import { StintError } from '../../base/errors/stint-error.ts'
import { after, systemClock } from '../../base/process/clock.ts'
import { visibleText } from '../../base/text/escape.ts'
import { wrap } from '../../base/text/wrap.ts'
import { showWork } from '../../cli/terminal/progress.ts'
import { formatAge, formatSpace, plural, shortPath } from '../../cli/text/format.ts'
import { type CommandGroup, defineBareCommand } from '../../command/define-command.ts'
import { findRoot } from '../../scratch/index.ts'
import {
  type MeasuredEntry,
  measureEntries,
  renderOwner,
  sortEntries,
  sumEntries,
  type TempEntry,
  type TracedPath,
  tracePath,
} from '../index.ts'
import { renderEntries, tempStatsCommand, tempWatchCommand } from './temp-stats.ts'

const tempListCommand = defineBareCommand({
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

const defaultWaitMs = 2000
const checkEveryMs = 50

/** Why an entry is kept of which nobody knows whether its run is dead: it may be an orphan. */
const unjudged: Partial<Record<MeasuredEntry['reason'], string>> = {
  unreadable: 'cannot read',
  'owner-unknown': 'it is unknown whether a process still uses',
}

const tempCheckCommand = defineBareCommand({
  name: 'check',
  summary: 'Exits with 3 if dead runs have left anything: proof, for CI, that cleanup works.',
  options: {
    wait: { type: 'duration', value: 'D', help: 'how long to wait for cleanup that is under way (2s)' },
  },
  examples: [
    ['stint temp check', 'the last step of a CI job'],
    ['stint temp check --wait 30s --json', 'give the removal of a large scratch time'],
  ],
  async run(context, { options }) {
    const { warn, say, screen } = context
    const withinMs = options.wait ?? defaultWaitMs
    const entries = await showWork('measuring', context, () => waitForCleanup(withinMs))
    for (const [reason, why] of Object.entries(unjudged)) {
      const unjudgedEntries = entries.filter((entry) => entry.reason === reason)
      if (unjudgedEntries[0] === undefined) continue
      warn(
        `${plural(unjudgedEntries.length, 'entry', 'entries')} cannot be judged: ${why} ${unjudgedEntries[0].path}`,
      )
    }
    const orphans = sortEntries(entries.filter(isOrphan), 'size')
    const { bytes, disk_bytes, files } = sumEntries(orphans)
    const data = { orphans, bytes, disk_bytes, files, checked: entries.length }
    if (orphans.length === 0) return data
    say(renderEntries(orphans, findRoot()?.path ?? '/', screen.columns).join('\n'))
    throw new StintError(
      'ORPHANS_FOUND',
      `dead runs have left ${plural(orphans.length, 'entry', 'entries')}, ${formatSpace({ bytes, disk_bytes })} in ${plural(files, 'file')}`,
      { data, detail: `orphans=${orphans.length} bytes=${bytes} disk_bytes=${disk_bytes} files=${files}` },
    )
  },
  render: ({ checked }) => `no orphans (${checked} checked)`,
})

const isOrphan = ({ orphan }: MeasuredEntry): boolean => orphan

/** Measures until there are no orphans: the guard of a run that just ended may still empty the trash. */
async function waitForCleanup(withinMs: number): Promise<MeasuredEntry[]> {
  const end = systemClock.mono() + withinMs
  for (;;) {
    const entries = await measureEntries()
    if (!entries.some(isOrphan) || systemClock.mono() >= end) return entries
    await after(checkEveryMs)
  }
}

const tempWhyCommand = defineBareCommand({
  name: 'why',
  summary: 'Shows which run, session, context and test made this path, and what will become of it.',
  positionals: 'PATH',
  examples: [
    ['stint temp why "$TMPDIR/report.json"', 'a file in a scratch'],
    ['stint temp why /var/tmp/socket --json', 'a path elsewhere that a run tracks'],
  ],
  async run(_, { positionals: [path] }) {
    if (path === '' || path.includes('\0')) throw new StintError('ARG_ERROR', 'this cannot be a path')
    const trace = await tracePath(path, Date.now())
    if (trace === undefined) throw notFound(path)
    const { entry, contexts, tracked } = trace
    return {
      ...trace,
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

function renderWhy({ path, exists, entry, contexts, context, test_file, tracked, fate }: WhyData): string {
  const facts: [string, string | null][] = [
    ['belongs to', `${entry.kind} ${entry.path} (${formatSpace(entry)} in ${plural(entry.files, 'file')})`],
    ['tracked as', tracked && tracked.path],
    ['run', entry.request_id],
    ['by', `${renderOwner(entry)}, ${formatAge(entry.age_ms)} ago`],
    ['session', entry.session_id],
    ['in run', entry.parent_request_id],
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

export const temp: CommandGroup = {
  name: 'temp',
  summary: 'What runs have, and have left, in the temp directory.',
  commands: {
    list: {
      summary: 'every scratch, output, trash entry and tracked record',
      load: async () => tempListCommand,
    },
    stats: { summary: 'figures, now and since the first sweep', load: async () => tempStatsCommand },
    watch: { summary: 'the figures, kept up to date', load: async () => tempWatchCommand },
    why: { summary: 'which run made this path?', load: async () => tempWhyCommand },
    check: { summary: 'fail if dead runs have left anything', load: async () => tempCheckCommand },
  },
  examples: [
    ['stint temp list --sort age', 'the oldest first'],
    ['stint temp why "$TMPDIR/report.json"', 'which run, session and context made it'],
    ['stint temp check', 'exit 3 if cleanup has not worked: for CI'],
  ],
}
