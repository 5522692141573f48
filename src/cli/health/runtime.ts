import { existsSync } from 'node:fs'
import type { Identity } from '../../base/process/liveness.ts'
import { type Check, fail, ok, warn } from './check.ts'

const [leastMajor, leastMinor] = [20, 15] as const

/** Is this version of Node new enough? */
export function judgeNode(version: string): Check {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > leastMajor || (major === leastMajor && minor >= leastMinor)) return ok('node', version)
  const needed = `${leastMajor}.${leastMinor}`
  return fail('node', `${version} is too old: ${needed} is needed`, `Install Node ${needed} or newer.`)
}

/** Can a process be identified, so that a new one is never taken for it? */
export function judgeIdentity({ started, boot, host }: Identity): Check {
  const name = 'processes'
  if (started === null)
    return warn(
      name,
      'the start time of a process is unknown: a new process with a reused pid passes for a dead one',
      'Mount /proc. Without it, what dead processes left is removed only when its time is over.',
    )
  if (boot === '' || host === '')
    return warn(
      name,
      `there is no ${boot === '' ? 'boot id' : 'machine id'}: after a restart, processes from before it cannot be recognised as dead`,
      host === '' ? 'systemd-machine-id-setup, or write 32 hex digits into /etc/machine-id.' : 'Mount /proc.',
    )
  return ok(name, 'processes can be identified reliably, even across restarts')
}

/** Is there a shell for the guard? */
export function checkShell(path = '/bin/sh'): Check {
  if (existsSync(path)) return ok('guard', `${path} is there to clean up after \`kill -9\``)
  return warn(
    'guard',
    `there is no ${path}: after \`kill -9\` of a run its children go on, and its scratch stays until a sweep`,
    'Install a shell.',
  )
}
