import { formatDuration } from '../../base/text/duration.ts'
import type { TimerJob } from './job.ts'

export const serviceName = 'stint-sweep.service'
export const timerName = 'stint-sweep.timer'

/** The first line of every unit that stint writes; a unit without it belongs to the user. */
const marker = '# Written by `stint sweep --install-timer`; `stint sweep --uninstall-timer` removes it.'

export const isStintUnit = (text: string): boolean => text.startsWith(marker)

export const serviceUnit = ({ program, args, env }: TimerJob): string =>
  `${marker}
[Unit]
Description=Remove what dead runs of stint left behind

[Service]
Type=oneshot
${Object.entries(env)
  .map(([name, value]) => `Environment=${quote(`${name}=${value}`)}\n`)
  .join('')}ExecStart=${[quote(program), ...args.map(quoteArgument)].join(' ')}
Nice=10
`

export const timerUnit = ({ everyMs }: TimerJob): string =>
  `${marker}
[Unit]
Description=stint sweep every ${formatDuration(everyMs)}

[Timer]
OnActiveSec=1min
OnUnitActiveSec=${everyMs}ms

[Install]
WantedBy=timers.target
`

/** systemd expands C escapes within quotes, and specifiers that begin with `%` everywhere. */
const quote = (text: string): string =>
  /^[\w@+=:,./-]+$/.test(text) ? text : `"${text.replace(/[\\"]/g, '\\$&').replaceAll('%', '%%')}"`

/** In arguments, but not in the program's path, systemd expands variables that begin with `$`. */
const quoteArgument = (text: string): string => quote(text).replaceAll('$', '$$$$')

/** The words of the command in a unit that `serviceUnit` made. */
export function parseServiceCommand(unit: string): string[] {
  const line = /^ExecStart=(.*)$/m.exec(unit)?.[1] ?? ''
  return (line.match(/"(?:\\.|[^"\\])*"|\S+/g) ?? []).map((word, index) => {
    const bare = word.startsWith('"')
      ? word.slice(1, -1).replaceAll(/\\(.)/g, '$1').replaceAll('%%', '%')
      : word
    return index === 0 ? bare : bare.replaceAll('$$', '$')
  })
}
