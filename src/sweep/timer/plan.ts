import { join } from 'node:path'
import { StintError } from '../../base/errors/stint-error.ts'
import { addCronLine, hasCronLine, parseCronCommand, removeCronLine } from './crontab.ts'
import type { TimerJob } from './job.ts'
import {
  isStintUnit,
  parseServiceCommand,
  serviceName,
  serviceUnit,
  timerName,
  timerUnit,
} from './systemd-units.ts'

/** The tools of the system, and the timer that stint has set up with them. */
export interface TimerState {
  /** Whether `systemctl --user` works. */
  systemd: boolean
  unitDirectory: string
  /** The contents of the files with the names of stint's units in the unit directory. */
  units: Readonly<Record<string, string>>
  /** The crontab in Latin-1, one character a byte; undefined if `crontab` cannot be used. */
  crontab: string | undefined
}

/** One change, as data, so that a dry run can show it. */
export type TimerStep =
  | { write: string; text: string; before: string | undefined }
  | { remove: string }
  | { run: readonly string[]; input?: string }

export type TimerKind = 'systemd' | 'cron' | 'none'

/** How the timer of stint is installed. */
export function installedKind({ units, crontab }: Pick<TimerState, 'units' | 'crontab'>): TimerKind {
  if (isStintUnit(units[timerName] ?? '')) return 'systemd'
  return hasCronLine(crontab ?? '') ? 'cron' : 'none'
}

/** The words of the command that the installed timer starts; empty without a timer of stint. */
export function readTimerCommand({ units, crontab }: Pick<TimerState, 'units' | 'crontab'>): string[] {
  const unit = units[serviceName] ?? ''
  return isStintUnit(unit) ? parseServiceCommand(unit) : parseCronCommand(crontab ?? '')
}

const systemctl = (...args: string[]): TimerStep => ({ run: ['systemctl', '--user', ...args] })
const replaceCrontab = (text: string): TimerStep =>
  text === '' ? { run: ['crontab', '-r'] } : { run: ['crontab', '-'], input: text }

/** Plans a timer: with systemd if it works, else with cron. Installing it again changes nothing. */
export function planInstall(state: TimerState, job: TimerJob): { timer: TimerKind; steps: TimerStep[] } {
  if (state.systemd) return { timer: 'systemd', steps: [...writeUnits(state, job), ...dropCronLine(state)] }
  if (state.crontab === undefined)
    throw new StintError('TIMER_UNSUPPORTED', 'neither `systemctl --user` nor `crontab` can be used here')
  const text = addCronLine(state.crontab, job)
  return { timer: 'cron', steps: text === state.crontab ? [] : [replaceCrontab(text)] }
}

function writeUnits({ unitDirectory, units }: TimerState, job: TimerJob): TimerStep[] {
  const texts = { [serviceName]: serviceUnit(job), [timerName]: timerUnit(job) }
  const writes = Object.entries(texts).flatMap(([name, text]): TimerStep[] => {
    const before = units[name]
    const path = join(unitDirectory, name)
    if (before !== undefined && !isStintUnit(before))
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
    // A running timer keeps its old interval until it is restarted.
    ...(wasThere && writes.length > 0 ? [systemctl('restart', timerName)] : []),
  ]
}

/** Plans the removal of every timer that stint has installed, with systemd and with cron. */
export const planUninstall = (state: TimerState): TimerStep[] => [...dropUnits(state), ...dropCronLine(state)]

function dropUnits({ systemd, unitDirectory, units }: TimerState): TimerStep[] {
  const names = [serviceName, timerName].filter((name) => isStintUnit(units[name] ?? ''))
  if (names.length === 0) return []
  const removes = names.map((name): TimerStep => ({ remove: join(unitDirectory, name) }))
  if (systemd) return [systemctl('disable', '--now', timerName), ...removes, systemctl('daemon-reload')]
  // systemctl does not work, so remove the link that enables the timer directly.
  return [{ remove: join(unitDirectory, 'timers.target.wants', timerName) }, ...removes]
}

const dropCronLine = ({ crontab = '' }: TimerState): TimerStep[] =>
  hasCronLine(crontab) ? [replaceCrontab(removeCronLine(crontab))] : []
