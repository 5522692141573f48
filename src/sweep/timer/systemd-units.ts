import { formatDuration } from '../../base/text/duration.ts'
import type { TimerJob } from './job.ts'

export const serviceName = 'stint-sweep.service'
export const timerName = 'stint-sweep.timer'

/** The first line of what we write: a unit without it is somebody else's. */
const marker = '# Written by `stint sweep --install-timer`; `stint sweep --uninstall-timer` removes it.'

export const isOurUnit = (text: string): boolean => text.startsWith(marker)

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

/** systemd reads C escapes inside of quotes, and `%` as the beginning of a specifier everywhere. */
const quote = (text: string): string =>
  /^[\w@+=:,./-]+$/.test(text) ? text : `"${text.replace(/[\\"]/g, '\\$&').replaceAll('%', '%%')}"`

/** In arguments, but not in the program's path, `$` begins a variable. */
const quoteArgument = (text: string): string => quote(text).replaceAll('$', '$$$$')
