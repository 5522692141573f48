import type { OptionTable } from '../../command/option.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import { recordSweep } from '../../sweep/inventory/record-sample.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { sweepScopes } from '../../sweep/places.ts'
import { sweep } from '../../sweep/sweep.ts'
import { openProgressBar } from '../terminal/progress-bar.ts'
import { renderSweep, type SweepData, sweepData, sweepFailure } from './report.ts'
import { manageTimer, renderTimer, type TimerData } from './timer.ts'

const options = {
  'dry-run': { type: 'boolean', help: 'show what would be done; change nothing' },
  'older-than': {
    type: 'duration',
    value: 'D',
    help: 'remove only what has not changed for this long; never makes anything else removable',
  },
  scope: {
    type: 'string',
    choices: sweepScopes,
    help: 'what to look at (all: scratch, outputs and trash); sessions empties the trash of removed sessions',
  },
  'install-timer': { type: 'boolean', help: 'sweep regularly: a systemd user timer, or a crontab line' },
  'uninstall-timer': { type: 'boolean', help: 'remove that timer' },
  every: { type: 'duration', value: 'D', help: 'with --install-timer: how often (1h), at least 1m' },
} as const satisfies OptionTable

export const sweepCommand = defineBareCommand({
  name: 'sweep',
  summary:
    'Removes what dead runs left behind: scratches whose owner and children are dead, expired outputs, trash.',
  options,
  examples: [
    ['stint sweep', 'clean up now'],
    ['stint sweep --dry-run --json', 'what would go, as JSON'],
    ['stint sweep --older-than 1d', 'keep what went wrong today, to look at it'],
    ['stint sweep --scope sessions', 'delete removed sessions for good'],
    ['stint sweep --install-timer --every 30m', 'from now on, every half hour'],
  ],
  async run(context, { options }): Promise<SweepData | TimerData> {
    const dryRun = options['dry-run']
    const timer = timerAction(options)
    if (timer !== undefined) return manageTimer({ action: timer, everyMs: options.every, dryRun })
    const progress = await openProgressBar('sweeping', context)
    const report = await sweep({
      dryRun,
      scope: options.scope,
      olderThanMs: options['older-than'],
      onProgress: ({ done, total, bytesFreed: bytes }) => progress?.update({ count: { done, total }, bytes }),
    }).finally(() => progress?.clear())
    if (!dryRun) await recordSweep(report)
    const data = sweepData(report, dryRun)
    if (data.failures.length > 0) throw sweepFailure(data)
    return data
  },
  render: (data) => ('timer' in data ? renderTimer(data) : renderSweep(data)),
})

interface TimerOptions {
  'install-timer': boolean
  'uninstall-timer': boolean
  every: number | undefined
  scope: string | undefined
  'older-than': number | undefined
}

/** What is asked of the timer, if anything is; what does not go together is refused. */
function timerAction(options: TimerOptions): 'install' | 'uninstall' | undefined {
  const { 'install-timer': install, 'uninstall-timer': uninstall } = options
  const refuse = (message: string): StintError => new StintError('ARG_ERROR', message)
  if (install && uninstall) throw refuse('--install-timer and --uninstall-timer exclude each other')
  if (options.every !== undefined && !install) throw refuse('--every goes with --install-timer')
  if (!install && !uninstall) return undefined
  if (options.scope !== undefined || options['older-than'] !== undefined)
    throw refuse('the timer sweeps everything dead runs leave: --scope and --older-than do not go with it')
  return install ? 'install' : 'uninstall'
}
