import { StintError } from '../../base/errors/stint-error.ts'

/** What a timer starts, and how often. */
export interface TimerJob {
  /** Absolute: whoever starts it has another PATH. */
  program: string
  args: readonly string[]
  env: Readonly<Record<string, string>>
  everyMs: number
}

export const minute = 60_000
export const hour = 60 * minute
export const day = 24 * hour

/** Neither a unit file nor a crontab can be trusted with a line break, nor a schedule with less than a minute. */
export function checkTimerJob(job: TimerJob): void {
  if (job.everyMs < minute) {
    throw new StintError('ARG_ERROR', `--every must be at least 1m`, {
      hint: 'Every run of stint sweeps at its start anyway, at most once a minute.',
    })
  }
  const words = [job.program, ...job.args, ...Object.values(job.env)]
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  const odd = words.find((word) => /[\x00-\x1f\x7f]/.test(word))
  if (odd !== undefined) {
    throw new StintError('TIMER_UNSUPPORTED', `no timer can be given ${JSON.stringify(odd)}`, {
      hint: 'Install stint, or set STINT_TMP_ROOT and STINT_HOME, where the path has no control characters.',
    })
  }
}
