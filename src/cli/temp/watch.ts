import { after, systemClock } from '../../base/process/clock.ts'
import { visibleJson } from '../../base/text/escape.ts'
import { formatBytes } from '../../base/text/size.ts'
import { wrapLines } from '../../base/text/wrap.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import { type EntryTotals, measureEntries, recordSample, sumEntries } from '../../sweep/index.ts'
import { type BudgetLevel, budgetLevel, budgetOptions, readBudget, warnOfBudget } from '../budget.ts'
import { intervalOption, readInterval } from '../interval.ts'
import { measureSessionSpace } from '../sessions/measure-sessions.ts'
import { print } from '../terminal/print.ts'
import { showWork } from '../terminal/progress.ts'
import { formatSpace, formatTime, plural, utcOption, type Zone } from '../text/format.ts'
import { CsvFile } from './csv.ts'

export const tempWatchCommand = defineBareCommand({
  name: 'watch',
  summary:
    'Prints one line per sample until it is stopped: files, directories, size, scratches, orphans, growth.',
  options: {
    ...intervalOption,
    'max-runtime': { type: 'duration', value: 'D', help: 'stop after this long, with exit 0' },
    csv: { type: 'string', value: 'FILE', help: 'append each sample to this file, too' },
    ...budgetOptions,
    ...utcOption,
  },
  envelope: 'on-request',
  stream: true,
  examples: [
    ['stint temp watch', 'every two seconds'],
    ['stint temp watch --interval 10s --max-runtime 5m --csv temp.csv', 'for a spreadsheet'],
    ['stint temp watch --json', 'one JSON object a line'],
  ],
  async run(context, { options }) {
    const { signal, json, warn, screen } = context
    const intervalMs = readInterval(options.interval)
    const end = systemClock.mono() + (options['max-runtime'] ?? Number.POSITIVE_INFINITY)
    const csv = options.csv === undefined ? undefined : new CsvFile(options.csv)
    let before: EntryTotals | undefined
    const budget = readBudget(options)
    let lastLevel: BudgetLevel | undefined
    while (!signal.aborted) {
      const at = Date.now()
      const entries = await showWork('measuring', context, () => measureEntries(at))
      const total = sumEntries(entries)
      const growth = total.bytes - (before ?? total).bytes
      const disk_growth = total.disk_bytes - (before ?? total).disk_bytes
      const line = json
        ? visibleJson({ at, ...total, growth, disk_growth })
        : wrapLines(renderLine(at, total, disk_growth, options), screen.columns)
      if (!print(`${line}\n`)) return
      csv?.add(at, total, growth)
      await recordSample('watch', { entries, measureSessions: measureSessionSpace })
      const level = budget && budgetLevel(total, budget)
      // Warn when the level changes, not with every line.
      if (level !== lastLevel) warnOfBudget(total, budget, warn)
      lastLevel = level
      before = total
      const restMs = Math.min(intervalMs, end - systemClock.mono())
      if (restMs <= 0) return
      await after(restMs)
    }
  },
})

function renderLine(at: number, total: EntryTotals, growth: number, zone: Zone): string {
  return [
    formatTime(at, zone),
    plural(total.files, 'file'),
    plural(total.directories, 'directory', 'directories'),
    formatSpace(total),
    plural(total.scratches, 'scratch', 'scratches'),
    `${total.live} live`,
    plural(total.orphans, 'orphan'),
    `${growth < 0 ? '-' : '+'}${formatBytes(Math.abs(growth))}`,
  ].join('  ')
}
