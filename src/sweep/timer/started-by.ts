import { ourLine } from './crontab.ts'
import type { TimerState } from './plan.ts'
import { isOurUnit, serviceName } from './systemd-units.ts'

/** The words of the command that a timer of ours starts; none if there is no such timer. */
export function readTimerCommand({ units, crontab }: Pick<TimerState, 'units' | 'crontab'>): string[] {
  const unit = units[serviceName] ?? ''
  const line = ourLine(crontab ?? '')
  if (isOurUnit(unit)) return wordsOfUnit(/^ExecStart=(.*)$/m.exec(unit)?.[1] ?? '')
  return line === undefined ? [] : wordsOfCron(line)
}

/** Undoes what `serviceUnit` does. */
const wordsOfUnit = (line: string): string[] =>
  (line.match(/"(?:\\.|[^"\\])*"|\S+/g) ?? []).map((word, index) => {
    const bare = word.startsWith('"')
      ? word.slice(1, -1).replaceAll(/\\(.)/g, '$1').replaceAll('%%', '%')
      : word
    return index === 0 ? bare : bare.replaceAll('$$', '$')
  })

/** Undoes what `cronLine` does: five fields of time, variables, the command, and where its output goes. Given in Latin-1, as crontabs are. */
function wordsOfCron(line: string): string[] {
  const text = Buffer.from(line, 'latin1').toString().replaceAll('\\%', '%')
  const command = text.replace(/^\s*(?:\S+\s+){5}/, '').replace(/ >\/dev\/null .*$/, '')
  const words = command.match(/(?:'[^']*'|\\'|[^\s'\\])+/g) ?? []
  const bare = words.map((word) => word.replaceAll(/'([^']*)'|\\(')/g, '$1$2'))
  return bare.slice(bare.findIndex((word) => !/^\w+=/.test(word)))
}
