import { StintError } from '../../../base/errors/stint-error.ts'
import { after, systemClock } from '../../../base/process/clock.ts'
import { defineBareCommand } from '../../../command/define-command.ts'
import { findRoot } from '../../../scratch/index.ts'
import { type MeasuredEntry, measureEntries, sortEntries, sumEntries } from '../../index.ts'
import { showWork } from '../../../cli/terminal/progress.ts'
import { formatSpace, plural } from '../../../cli/text/format.ts'
import { renderEntries } from './render-entries.ts'

const defaultWaitMs = 2000
const checkEveryMs = 50

/** Why an entry is kept of which nobody knows whether its run is dead: it may be an orphan. */
const unjudged: Partial<Record<MeasuredEntry['reason'], string>> = {
  unreadable: 'cannot read',
  'owner-unknown': 'it is unknown whether a process still uses',
}

export const tempCheckCommand = defineBareCommand({
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
      const kept = entries.filter((entry) => entry.reason === reason)
      if (kept[0] === undefined) continue
      warn(`${plural(kept.length, 'entry', 'entries')} cannot be judged: ${why} ${kept[0].path}`)
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
