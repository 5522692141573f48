import { latin1Of } from '../../base/fs/byte-path.ts'
import { shellWord } from '../../base/text/escape.ts'
import { cronSchedule } from './cron-schedule.ts'
import type { TimerJob } from './job.ts'

/** At the end of our line; to the shell that cron starts, a comment. */
const marker = '# stint-sweep-timer'

export function cronLine(job: TimerJob): string {
  const env = Object.entries(job.env).map(([name, value]) => `${name}=${shellWord(value)}`)
  const command = [...env, ...[job.program, ...job.args].map(shellWord)].join(' ')
  // To cron an unescaped % is the end of the line. Errors are not discarded: cron mails them.
  return `${cronSchedule(job.everyMs)} ${command.replaceAll('%', '\\%')} >/dev/null ${marker}`
}

export const hasOurLine = (crontab: string): boolean => ourLine(crontab) !== undefined

export const ourLine = (crontab: string): string | undefined => crontab.split('\n').find(isOurs)

/**
 * Adds our line to a crontab, which is a text in Latin-1, a character a byte: nobody knows in which encoding the other lines are. Ours comes first, where no
 * setting of the others (SHELL, PATH) changes what it means; the rest stays as it is to the byte, whether or not it ends with a line break.
 */
export const withLine = (crontab: string, job: TimerJob): string =>
  `${latin1Of(cronLine(job))}\n${withoutLine(crontab)}`

export const withoutLine = (crontab: string): string =>
  crontab
    .split('\n')
    .filter((line) => !isOurs(line))
    .join('\n')

const isOurs = (line: string): boolean => line.endsWith(` ${marker}`)
