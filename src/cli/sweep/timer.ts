import { realpathSync } from 'node:fs'
import { stintHome } from '../../base/fs/home.ts'
import { findTmp } from '../../base/fs/temp-directory.ts'
import { formatDuration } from '../../base/text/duration.ts'
import {
  installTimer,
  type TimerJob,
  type TimerKind,
  type TimerStep,
  uninstallTimer,
} from '../../sweep/index.ts'

export interface TimerRequest {
  action: 'install' | 'uninstall'
  everyMs: number | undefined
  dryRun: boolean
}

export interface TimerData {
  dry_run: boolean
  /** How the timer is installed now, or would be. */
  timer: TimerKind
  every?: string
  /** The changes made, or planned, in this order. */
  steps: ShownStep[]
}

type ShownStep = { write: string; text: string } | { remove: string } | { run: string[]; input?: string }

const defaultEveryMs = 3_600_000

/** Installs or removes the timer that sweeps. */
export async function manageTimer(request: TimerRequest): Promise<TimerData> {
  const { action, everyMs = defaultEveryMs, dryRun } = request
  if (action === 'uninstall') {
    const { timer, steps } = await uninstallTimer({ dryRun })
    return { dry_run: dryRun, timer, steps: steps.map(showStep) }
  }
  const { timer, steps } = await installTimer(sweepJob(everyMs), { dryRun })
  return { dry_run: dryRun, timer, every: formatDuration(everyMs), steps: steps.map(showStep) }
}

/** Names program, temp directory and home in full: cron and systemd have another environment. */
const sweepJob = (everyMs: number): TimerJob => ({
  program: process.execPath,
  // The real path, because a link in a project's `node_modules/.bin` may disappear with the project.
  args: [realpathSync.native(process.argv[1] ?? ''), 'sweep', '--json'],
  env: { STINT_TMP_ROOT: findTmp(), ...(process.env.STINT_HOME && { STINT_HOME: stintHome() }) },
  everyMs,
})

/** Decodes the Latin-1 input of a tool, one character a byte, into readable UTF-8. */
function showStep(step: TimerStep): ShownStep {
  if ('remove' in step) return step
  if ('write' in step) return { write: step.write, text: step.text }
  const input = step.input === undefined ? {} : { input: Buffer.from(step.input, 'latin1').toString() }
  return { run: [...step.run], ...input }
}

export function renderTimer({ dry_run, timer, every, steps }: TimerData): string {
  const summary =
    timer !== 'none'
      ? `${dry_run ? 'would sweep' : 'sweeps'} every ${every}, started by ${timer}`
      : steps.length === 0
        ? 'there is no timer'
        : `${dry_run ? 'would remove' : 'removed'} the timer`
  return [...steps.map((step) => renderStep(step, dry_run)), summary].join('\n')
}

function renderStep(step: ShownStep, dryRun: boolean): string {
  const say = (would: string, did: string): string => (dryRun ? `would ${would}` : did)
  if ('remove' in step) return `${say('remove', 'removed')} ${step.remove}`
  // A dry run prints the contents too, because they are in no file yet.
  const text = dryRun ? (('write' in step ? step.text : step.input) ?? '') : ''
  const what =
    'write' in step ? `${say('write', 'wrote')} ${step.write}` : `${say('run', 'ran')} ${step.run.join(' ')}`
  return text === '' ? what : `${what}\n${text.replace(/^(?=.)/gm, '    ').trimEnd()}`
}
