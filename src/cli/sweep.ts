import { defineBareCommand } from '../command/spec.ts'
import type { OptionTable } from '../command/option.ts'
import { StintError } from '../primitives/stint-error.ts'
import { sweep, type SweepReport } from '../sweep/sweep.ts'
import { formatBytes } from './format-bytes.ts'

const options = {
  'dry-run': { type: 'boolean', help: 'say what would be removed, change nothing' },
} as const satisfies OptionTable

export const sweepCommand = defineBareCommand({
  name: 'sweep',
  summary:
    'Removes what dead runs left behind: scratches whose owner and children are dead, expired outputs, trash.',
  options,
  examples: [
    ['stint sweep', 'clean up now'],
    ['stint sweep --dry-run --json', 'what would go, as JSON'],
  ],
  async run(_, { options }) {
    const dryRun = options['dry-run']
    const report = await sweep({ dryRun })
    const data = {
      dry_run: dryRun,
      removed: report.removed,
      kept: report.kept,
      failures: report.failures,
      bytes_freed: report.bytesFreed,
    }
    if (report.failures.length > 0) throw partial(report, data)
    return data
  },
  render: ({ dry_run, removed, kept, bytes_freed }) =>
    [
      ...removed.map(({ path, bytes, reason }) => `${path}  ${formatBytes(bytes)}  ${reason}`),
      `${dry_run ? 'would remove' : 'removed'} ${removed.length}, ${formatBytes(bytes_freed)}; kept ${kept.length}`,
    ].join('\n'),
})

function partial({ failures }: SweepReport, data: unknown): StintError {
  const named = failures.map(({ path, error }) => `${path} (${error})`).join(', ')
  return new StintError('PARTIAL_FAILURE', `could not remove ${named}`, { data, phase: 'cleanup' })
}
