import { visibleText } from '../../base/text/escape.ts'
import type { InstalledTimer } from '../../sweep/index.ts'
import { bad, type Check, fine, poor } from '../health/check.ts'

/** Judges the timer. None is needed, because every run sweeps at its start; one that is installed should work. */
export function judgeTimer({ kind, systemd, active, missing }: InstalledTimer): Check {
  const again = 'stint sweep --install-timer'
  if (kind === 'none') return fine('timer', 'none, and none is needed: every run sweeps at its start')
  if (missing.length > 0)
    return bad('timer', `what it starts is gone: ${visibleText(missing.join(', '), 2000)}`, again)
  if (kind === 'systemd' && !systemd)
    return poor(
      'timer',
      '`systemctl --user` does not answer, so nothing starts it',
      'Log in, or `loginctl enable-linger`.',
    )
  if (kind === 'systemd' && !active)
    return bad('timer', 'stint-sweep.timer is installed, but not active', again)
  return fine('timer', `started by ${kind}`)
}
