import { spawnSync } from 'node:child_process'
import { lstatSync } from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { readSmallFile } from '../../base/fs/regular-file.ts'
import type { TimerState } from './plan.ts'
import { serviceName, timerName } from './systemd-units.ts'

/** Looks what there is; changes nothing. */
export function readTimerState(env: NodeJS.ProcessEnv = process.env): TimerState {
  const config = env.XDG_CONFIG_HOME
  const unitDirectory = join(
    config && isAbsolute(config) ? config : join(homedir(), '.config'),
    'systemd/user',
  )
  const units = [serviceName, timerName].flatMap((name) => {
    const path = join(unitDirectory, name)
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return []
    // A link, or whatever else cannot be read, is not ours: it is there all the same.
    return [[name, readSmallFile(path) ?? ''] as const]
  })
  return {
    // There is more than one way to have systemctl without a manager behind it: a container, su, cron itself.
    systemd: runTool(['systemctl', '--user', 'show-environment']).status === 0,
    unitDirectory,
    units: Object.fromEntries(units),
    crontab: readCrontab(),
  }
}

/** Only "there is none" is an empty one: taking any other failure for that would overwrite what is there. */
function readCrontab(): string | undefined {
  const { status, stdout, stderr } = runTool(['crontab', '-l'])
  if (status === 0) return stdout
  return status !== null && /no crontab|no such file/i.test(stderr) ? '' : undefined
}

interface ToolResult {
  /** Null if it could not be started, or not be waited for. */
  status: number | null
  stdout: string
  stderr: string
}

/** Runs a tool of the system. Its text is taken as bytes (Latin-1), so that what we pass back is what we were given. */
export function runTool([tool = '', ...args]: readonly string[], input = ''): ToolResult {
  const { status, stdout, stderr } = spawnSync(tool, args, {
    input: Buffer.from(input, 'latin1'),
    encoding: 'latin1',
    env: { ...process.env, LC_ALL: 'C' },
    maxBuffer: 1 << 26,
    timeout: 60_000,
  })
  return { status, stdout: stdout ?? '', stderr: stderr ?? '' }
}
