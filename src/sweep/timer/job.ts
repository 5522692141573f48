import { StintError } from '../../base/errors/stint-error.ts'

/** The command that a timer starts, and its interval in milliseconds. */
export interface TimerJob {
  /** An absolute path: cron and systemd search another PATH. */
  program: string
  args: readonly string[]
  env: Readonly<Record<string, string>>
  everyMs: number
}

export const minuteMs = 60_000
export const hourMs = 60 * minuteMs
export const dayMs = 24 * hourMs

/** Throws for intervals below a minute, and for control characters: a line break would end the entry. */
export function checkTimerJob(job: TimerJob): void {
  if (job.everyMs < minuteMs) {
    throw new StintError('ARG_ERROR', `--every must be at least 1m`, {
      hint: 'Every run of stint sweeps at its start anyway, at most once a minute.',
    })
  }
  const words = [job.program, ...job.args, ...Object.values(job.env)]
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  const invalid = words.find((word) => /[\x00-\x1f\x7f]/.test(word))
  if (invalid !== undefined) {
    throw new StintError('TIMER_UNSUPPORTED', `no timer can be given ${JSON.stringify(invalid)}`, {
      hint: 'Install stint, or set STINT_TMP_ROOT and STINT_HOME, where the path has no control characters.',
    })
  }
}
