import { spawnSync } from 'node:child_process'
import { existsSync, lstatSync, mkdirSync, unlinkSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { codedError, errorCode, StintError } from '../../base/errors/stint-error.ts'
import { replaceFile } from '../../base/fs/atomic-file.ts'
import { readSmallFile } from '../../base/fs/regular-file.ts'
import { checkTimerJob, type TimerJob } from './job.ts'
import {
  installedKind,
  planInstall,
  planUninstall,
  readTimerCommand,
  type TimerKind,
  type TimerState,
  type TimerStep,
} from './plan.ts'
import { serviceName, timerName } from './systemd-units.ts'

/** How the timer is installed after a change, and the steps that change it. */
export interface TimerChange {
  timer: TimerKind
  steps: TimerStep[]
}

/** Installs a timer for the job. A dry run only returns the steps. */
export function installTimer(job: TimerJob, { dryRun }: { dryRun: boolean }): TimerChange {
  checkTimerJob(job)
  const change = planInstall(readTimerState(), job)
  if (!dryRun) applySteps(change.steps)
  return change
}

/** Removes every timer that stint has installed. A dry run only returns the steps. */
export function uninstallTimer({ dryRun }: { dryRun: boolean }): TimerChange {
  const steps = planUninstall(readTimerState())
  if (!dryRun) applySteps(steps)
  return { timer: 'none', steps }
}

/** The timer of this user, as it is installed now. */
export interface InstalledTimer {
  kind: TimerKind
  /** Whether `systemctl --user` works. */
  systemd: boolean
  /** Whether systemd has started the timer. */
  active: boolean
  /** Programs and files that the timer starts but that do not exist. */
  missing: string[]
}

export function inspectTimer(): InstalledTimer {
  const state = readTimerState()
  const kind = installedKind(state)
  const isActive = (): boolean => runTool(['systemctl', '--user', 'is-active', timerName]).status === 0
  return {
    kind,
    systemd: state.systemd,
    active: kind === 'systemd' && state.systemd && isActive(),
    missing: readTimerCommand(state)
      .filter(isAbsolute)
      .filter((path) => !existsSync(path)),
  }
}

function readTimerState(env: NodeJS.ProcessEnv = process.env): TimerState {
  const config = env.XDG_CONFIG_HOME
  const unitDirectory = join(
    config && isAbsolute(config) ? config : join(homedir(), '.config'),
    'systemd/user',
  )
  const units = [serviceName, timerName].flatMap((name) => {
    const path = join(unitDirectory, name)
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return []
    // stint wrote neither a link nor an unreadable file, but the name is taken.
    return [[name, readSmallFile(path) ?? ''] as const]
  })
  return {
    // systemctl can be installed without a user manager behind it: in a container, after su, in a cron job.
    systemd: runTool(['systemctl', '--user', 'show-environment']).status === 0,
    unitDirectory,
    units: Object.fromEntries(units),
    crontab: readCrontab(),
  }
}

/** Treats only "no crontab" as empty: after another failure, a write would replace the existing one. */
function readCrontab(): string | undefined {
  const { status, stdout, stderr } = runTool(['crontab', '-l'])
  if (status === 0) return stdout
  return status !== null && /no crontab|no such file/i.test(stderr) ? '' : undefined
}

type WriteStep = Extract<TimerStep, { write: string }>

/** Applies the steps in order. If one fails, restores the files that were written, and throws its error. */
export function applySteps(steps: readonly TimerStep[]): void {
  const written: WriteStep[] = []
  try {
    for (const step of steps) {
      applyStep(step)
      if ('write' in step) written.push(step)
    }
  } catch (error) {
    for (const step of written.toReversed()) undo(step)
    throw error
  }
}

function undo({ write, before }: WriteStep): void {
  try {
    applyStep(before === undefined ? { remove: write } : { write, text: before, before })
  } catch {
    // The error of the failed step says more, and the other files still have to be restored.
  }
}

function applyStep(step: TimerStep): void {
  if ('run' in step) return runStep(step.run, step.input)
  const path = 'write' in step ? step.write : step.remove
  try {
    if ('remove' in step) return unlinkSync(path)
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    replaceFile(path, step.text)
  } catch (error) {
    if ('remove' in step && errorCode(error) === 'ENOENT') return
    throw codedError(error, `write ${path}`, 'Set XDG_CONFIG_HOME to a directory you may write to.')
  }
}

function runStep(command: readonly string[], input: string | undefined): void {
  const { status, stderr } = runTool(command, input)
  if (status === 0) return
  const output = Buffer.from(stderr, 'latin1').toString().trim()
  throw new StintError('TIMER_UNSUPPORTED', `\`${command.join(' ')}\` failed${output && `: ${output}`}`, {
    detail: `status=${status ?? 'none'}`,
  })
}

interface ToolResult {
  /** Null if the tool could not be started, or did not end in time. */
  status: number | null
  stdout: string
  stderr: string
}

/** Runs a system tool. Input and output are Latin-1, one character a byte, so that no byte changes. */
function runTool([tool = '', ...args]: readonly string[], input = ''): ToolResult {
  const { status, stdout, stderr } = spawnSync(tool, args, {
    input: Buffer.from(input, 'latin1'),
    encoding: 'latin1',
    env: { ...process.env, LC_ALL: 'C' },
    maxBuffer: 1 << 26,
    timeout: 60_000,
  })
  return { status, stdout: stdout ?? '', stderr: stderr ?? '' }
}
