import type { OptionTable } from '../../command/option.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import { measureEntries } from '../../sweep/inventory/measure-entries.ts'
import { type MeasuredEntry, sortEntries } from '../../sweep/inventory/entry.ts'
import { totalsOf } from '../../sweep/inventory/totals.ts'
import { after, systemClock } from '../../base/process/clock.ts'
import { formatBytes } from '../../base/text/size.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { findRoot } from '../../scratch/index.ts'
import { budgetOf, budgetOptions } from '../budget.ts'
import { warnOfBudget } from '../budget-text.ts'
import { plural } from '../text/format.ts'
import { renderEntries } from './describe.ts'

const options = {
  wait: { type: 'duration', value: 'D', help: 'how long to wait for cleanup that is under way (2s)' },
  ...budgetOptions,
} as const satisfies OptionTable

const defaultWaitMs = 2000
const lookEveryMs = 50

export const tempCheckCommand = defineBareCommand({
  name: 'check',
  summary: 'Exits with 3 if dead runs have left anything: proof, for CI, that cleanup works.',
  options,
  examples: [
    ['stint temp check', 'the last step of a CI job'],
    ['stint temp check --wait 30s --json', 'give a large scratch time to go'],
  ],
  async run({ warn, say, signal }, { options }) {
    const entries = await settled(options.wait ?? defaultWaitMs, signal)
    warnOfBudget(totalsOf(entries), budgetOf(options), warn)
    const orphans = sortEntries(entries.filter(isOrphan), 'size')
    const { bytes, files } = totalsOf(orphans)
    const data = { orphans, bytes, files, checked: entries.length }
    if (orphans.length === 0) return data
    say(renderEntries(orphans, findRoot()?.path ?? '/').join('\n'))
    throw new StintError(
      'ORPHANS_FOUND',
      `dead runs have left ${plural(orphans.length, 'entry', 'entries')}, ${formatBytes(bytes)} in ${plural(files, 'file')}`,
      { data, detail: `orphans=${orphans.length} bytes=${bytes} files=${files}` },
    )
  },
  render: ({ checked }) => `no orphans (${checked} checked)`,
})

const isOrphan = ({ orphan }: MeasuredEntry): boolean => orphan

/** At the end of a run its guard may still be emptying the trash: that is cleanup at work, not one that has failed. */
async function settled(withinMs: number, signal: AbortSignal): Promise<MeasuredEntry[]> {
  const end = systemClock.mono() + withinMs
  for (;;) {
    const entries = await measureEntries()
    if (!entries.some(isOrphan) || systemClock.mono() >= end || signal.aborted) return entries
    await after(lookEveryMs)
  }
}
