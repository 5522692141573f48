import { join } from 'node:path'
import { StintError } from '../../base/errors/stint-error.ts'
import { hasOurLine, withLine, withoutLine } from './crontab.ts'
import type { TimerJob } from './job.ts'
import { isOurUnit, serviceName, serviceUnit, timerName, timerUnit } from './systemd-units.ts'

/** What the system has, and what of ours is there already. */
export interface TimerState {
  /** Can `systemctl --user` be used? */
  systemd: boolean
  unitDirectory: string
  /** The text of what is there under our names in the unit directory. */
  units: Readonly<Record<string, string>>
  /** The user's crontab in Latin-1, a character a byte; empty if there is none, undefined if `crontab` cannot be used. */
  crontab: string | undefined
}

/** One thing to do, as data, so that it can be shown as well as done. */
export type TimerStep =
  | { write: string; text: string; before: string | undefined }
  | { remove: string }
  | { run: readonly string[]; input?: string }

export type TimerKind = 'systemd' | 'cron'

const systemctl = (...args: string[]): TimerStep => ({ run: ['systemctl', '--user', ...args] })
const replaceCrontab = (text: string): TimerStep =>
  text === '' ? { run: ['crontab', '-r'] } : { run: ['crontab', '-'], input: text }

/** How to get a timer for the job: by systemd where there is one, else by cron. Doing it again changes nothing. */
export function planInstall(state: TimerState, job: TimerJob): { timer: TimerKind; steps: TimerStep[] } {
  if (state.systemd) return { timer: 'systemd', steps: [...installUnits(state, job), ...dropLine(state)] }
  if (state.crontab === undefined)
    throw new StintError('TIMER_UNSUPPORTED', 'neither `systemctl --user` nor `crontab` can be used here')
  const text = withLine(state.crontab, job)
  return { timer: 'cron', steps: text === state.crontab ? [] : [replaceCrontab(text)] }
}

function installUnits({ unitDirectory, units }: TimerState, job: TimerJob): TimerStep[] {
  const texts = { [serviceName]: serviceUnit(job), [timerName]: timerUnit(job) }
  const writes = Object.entries(texts).flatMap(([name, text]): TimerStep[] => {
    const before = units[name]
    const path = join(unitDirectory, name)
    if (before !== undefined && !isOurUnit(before))
      throw new StintError('NAME_TAKEN', `${path} exists already, and was not written by stint`, {
        hint: 'Move it away, or keep it and do without --install-timer.',
      })
    return before === text ? [] : [{ write: path, text, before }]
  })
  const wasThere = units[timerName] !== undefined
  return [
    ...writes,
    systemctl('daemon-reload'),
    systemctl('enable', '--now', timerName),
    // A timer that runs keeps the time it has set until it is started anew.
    ...(wasThere && writes.length > 0 ? [systemctl('restart', timerName)] : []),
  ]
}

/** How to be rid of whatever of ours is there, by whichever way it came. */
export const planUninstall = (state: TimerState): TimerStep[] => [...dropUnits(state), ...dropLine(state)]

function dropUnits({ systemd, unitDirectory, units }: TimerState): TimerStep[] {
  const ours = [serviceName, timerName].filter((name) => isOurUnit(units[name] ?? ''))
  if (ours.length === 0) return []
  const removes = ours.map((name): TimerStep => ({ remove: join(unitDirectory, name) }))
  if (systemd) return [systemctl('disable', '--now', timerName), ...removes, systemctl('daemon-reload')]
  // Nobody to ask: then what enabled it, a link, goes by hand.
  return [{ remove: join(unitDirectory, 'timers.target.wants', timerName) }, ...removes]
}

const dropLine = ({ crontab = '' }: TimerState): TimerStep[] =>
  hasOurLine(crontab) ? [replaceCrontab(withoutLine(crontab))] : []
