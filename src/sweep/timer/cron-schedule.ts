import { formatDuration } from '../../base/text/duration.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { day, hour, minute } from './job.ts'

/** Not on the hour, when everybody's jobs start. */
const atMinute = 17

const minutes = [1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30]
const hours = [1, 2, 3, 4, 6, 8, 12]

/** The five fields for an interval. Cron counts within the hour and the day, so only what divides them is regular. */
export function cronSchedule(everyMs: number): string {
  if (everyMs === minute) return '* * * * *'
  if (minutes.includes(everyMs / minute)) return `*/${everyMs / minute} * * * *`
  if (everyMs === hour) return `${atMinute} * * * *`
  if (hours.includes(everyMs / hour)) return `${atMinute} */${everyMs / hour} * * *`
  if (everyMs === day) return `${atMinute} 3 * * *`
  if (everyMs === 7 * day) return `${atMinute} 3 * * 0`
  throw new StintError('ARG_ERROR', `cron cannot start something every ${formatDuration(everyMs)}`, {
    hint: `It can do so every ${minutes.join(', ')} minutes, every ${hours.join(', ')} hours, every day (1d) or week (7d).`,
  })
}
