import { existsSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import { visibleText } from '../../base/text/escape.ts'
import { hasOurLine } from '../../sweep/timer/crontab.ts'
import type { TimerState } from '../../sweep/timer/plan.ts'
import { readTimerCommand } from '../../sweep/timer/started-by.ts'
import { isOurUnit, timerName } from '../../sweep/timer/systemd-units.ts'
import { readTimerState, runTool } from '../../sweep/timer/timer-state.ts'
import { bad, type Check, fine, poor } from '../health/check.ts'

export interface TimerFacts {
  state: TimerState
  /** Does systemd run it? */
  active: boolean
  /** Of what it starts, what is not there. */
  missing: string[]
}

export function readTimer(): TimerFacts {
  const state = readTimerState()
  const words = readTimerCommand(state).filter(isAbsolute)
  return {
    state,
    active: runsByUnit(state) && runTool(['systemctl', '--user', 'is-active', timerName]).status === 0,
    missing: words.filter((word) => !existsSync(word)),
  }
}

const runsByUnit = ({ systemd, units }: TimerState): boolean => systemd && isOurUnit(units[timerName] ?? '')

/** Every run sweeps at its start: a timer is a convenience, but one that is there should work. */
export function judgeTimer({ state, active, missing }: TimerFacts): Check {
  const again = 'stint sweep --install-timer'
  const hasUnit = isOurUnit(state.units[timerName] ?? '')
  const hasLine = hasOurLine(state.crontab ?? '')
  if (!hasUnit && !hasLine) return fine('timer', 'none, and none is needed: every run sweeps at its start')
  if (missing.length > 0)
    return bad('timer', `what it starts is gone: ${visibleText(missing.join(', '), 2000)}`, again)
  if (hasUnit && !state.systemd)
    return poor(
      'timer',
      '`systemctl --user` does not answer, so nothing starts it',
      'Log in, or `loginctl enable-linger`.',
    )
  if (hasUnit && !active) return bad('timer', `${timerName} is installed, but not active`, again)
  return fine('timer', `started by ${hasUnit ? 'systemd' : 'cron'}`)
}
