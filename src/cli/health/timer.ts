import { visibleText } from '../../base/text/escape.ts'
import type { InstalledTimer } from '../../sweep/index.ts'
import { type Check, fail, ok, warn } from './check.ts'

/** Judges the timer. None is needed, because every run sweeps; one that is installed should work. */
export function judgeTimer({ kind, systemd, active, missing }: InstalledTimer): Check {
  const reinstall = 'stint sweep --install-timer'
  if (kind === 'none') return ok('timer', 'none, and none is needed: every run sweeps at its start')
  if (missing.length > 0) {
    const files = visibleText(missing.join(', '))
    return fail('timer', `it starts files that no longer exist: ${files}`, reinstall)
  }
  if (kind === 'systemd' && !systemd)
    return warn(
      'timer',
      '`systemctl --user` does not answer, so nothing starts it',
      'Log in, or `loginctl enable-linger`.',
    )
  if (kind === 'systemd' && !active)
    return fail('timer', 'stint-sweep.timer is installed, but not active', reinstall)
  return ok('timer', `started by ${kind}`)
}
