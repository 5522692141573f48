import { StintError } from '../../base/errors/stint-error.ts'
import { latin1Of } from '../../base/fs/paths.ts'
import { formatDuration } from '../../base/text/duration.ts'
import { shellWord } from '../../base/text/escape.ts'
import { dayMs, hourMs, minuteMs, type TimerJob } from './job.ts'

/** Ends the line of stint in a crontab; the shell that cron starts takes it for a comment. */
const marker = '# stint-sweep-timer'

export function cronLine(job: TimerJob): string {
  const env = Object.entries(job.env).map(([name, value]) => `${name}=${shellWord(value)}`)
  const command = [...env, ...[job.program, ...job.args].map(shellWord)].join(' ')
  // cron ends the line at an unescaped %. Standard error is not discarded, so cron mails errors to the user.
  return `${cronSchedule(job.everyMs)} ${command.replaceAll('%', '\\%')} >/dev/null ${marker}`
}

/** Not on the hour, when most other jobs start. */
const atMinute = 17

const minutes = [1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30]
const hours = [1, 2, 3, 4, 6, 8, 12]

/** The five time fields. Cron starts over each hour and day, so the interval must divide one of them. */
export function cronSchedule(everyMs: number): string {
  if (everyMs === minuteMs) return '* * * * *'
  if (minutes.includes(everyMs / minuteMs)) return `*/${everyMs / minuteMs} * * * *`
  if (everyMs === hourMs) return `${atMinute} * * * *`
  if (hours.includes(everyMs / hourMs)) return `${atMinute} */${everyMs / hourMs} * * *`
  if (everyMs === dayMs) return `${atMinute} 3 * * *`
  if (everyMs === 7 * dayMs) return `${atMinute} 3 * * 0`
  throw new StintError('ARG_ERROR', `cron cannot start something every ${formatDuration(everyMs)}`, {
    hint: `It can do so every ${minutes.join(', ')} minutes, every ${hours.join(', ')} hours, every day (1d) or week (7d).`,
  })
}

/**
 * Adds the line of stint to a crontab, given in Latin-1, one character a byte: the encoding of the other
 * lines is unknown. The line comes first, so that no setting of another line (SHELL, PATH) changes its
 * meaning; every byte of the rest stays, with or without a final line break.
 */
export const addCronLine = (crontab: string, job: TimerJob): string =>
  `${latin1Of(cronLine(job))}\n${removeCronLine(crontab)}`

export const removeCronLine = (crontab: string): string =>
  crontab
    .split('\n')
    .filter((line) => !isStintLine(line))
    .join('\n')

export const hasCronLine = (crontab: string): boolean => crontab.split('\n').some(isStintLine)

const isStintLine = (line: string): boolean => line.endsWith(` ${marker}`)

/** The words of the command in a line of `cronLine`, without times, variables and redirection. */
export function parseCronCommand(crontab: string): string[] {
  const line = crontab.split('\n').find(isStintLine) ?? ''
  const text = Buffer.from(line, 'latin1').toString().replaceAll('\\%', '%')
  const command = text.replace(/^\s*(?:\S+\s+){5}/, '').replace(/ >\/dev\/null .*$/, '')
  const words = command.match(/(?:'[^']*'|\\'|[^\s'\\])+/g) ?? []
  const bare = words.map((word) => word.replaceAll(/'([^']*)'|\\(')/g, '$1$2'))
  return bare.slice(bare.findIndex((word) => !/^\w+=/.test(word)))
}
