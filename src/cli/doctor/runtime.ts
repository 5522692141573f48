import { existsSync } from 'node:fs'
import { emptyNodes, measure, slowingVariables, slowReasons } from '../../hook-install/doctor/latency.ts'
import type { Identity } from '../../base/process/liveness.ts'
import { bad, type Check, fine, poor } from '../health/check.ts'

const [leastMajor, leastMinor] = [20, 15] as const

export function judgeNode(version: string): Check {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const enough = major > leastMajor || (major === leastMajor && minor >= leastMinor)
  if (enough) return fine('node', version)
  const needed = `${leastMajor}.${leastMinor}`
  return bad('node', `${version} is too old: ${needed} is needed`, `Install Node ${needed} or newer.`)
}

const runs = 5

/** What the environment adds to every start of Node, measured. */
export function checkStart(env: NodeJS.ProcessEnv = process.env): Check[] {
  const set = slowingVariables.filter((name) => env[name])
  if (set.length === 0) return [fine('start', 'nothing in the environment slows Node down')]
  const measured = measure(runs, emptyNodes(env) as Required<ReturnType<typeof emptyNodes>>)
  // How busy the machine is says nothing about the environment.
  const reasons = slowReasons({ node: measured.node, withVariable: measured }, 0)
  if (reasons.length === 0) return [fine('start', `${set.join(' and ')} cost next to nothing`)]
  return reasons.map(({ reason, fix }) => poor('start', reason, fix))
}

/** What of a process can be known again, so that its death is not mistaken. */
export function judgeIdentity({ started, boot, host }: Identity): Check {
  const name = 'processes'
  if (started === null)
    return poor(
      name,
      'the start time of a process cannot be seen: a new process with a reused pid passes for the dead one',
      'Mount /proc. Without it, what the dead have left goes only when its time is over.',
    )
  if (boot === '' || host === '')
    return poor(
      name,
      `there is no ${boot === '' ? 'boot id' : 'machine id'}: after a restart it is not known who died`,
      host === '' ? 'systemd-machine-id-setup, or write 32 hex digits into /etc/machine-id.' : 'Mount /proc.',
    )
  return fine(name, 'the dead and the living can be told apart, even after a restart')
}

export function checkShell(path = '/bin/sh'): Check {
  if (existsSync(path)) return fine('guard', `${path} is there to clean up after \`kill -9\``)
  return poor(
    'guard',
    `there is no ${path}: after \`kill -9\` of a run its children go on, and its scratch waits for a sweep`,
    'Install a shell.',
  )
}
