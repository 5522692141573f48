import { realpathSync } from 'node:fs'
import { formatDuration } from '../../base/text/duration.ts'
import { stintHome } from '../../base/fs/home.ts'
import { findTmp } from '../../scratch/index.ts'
import { checkTimerJob, hour, type TimerJob } from '../../sweep/timer/job.ts'
import type { TimerKind, TimerStep } from '../../sweep/timer/plan.ts'

export interface TimerRequest {
  action: 'install' | 'uninstall'
  everyMs: number | undefined
  dryRun: boolean
}

export interface TimerData {
  dry_run: boolean
  /** What it is now, or would be. */
  timer: TimerKind | 'none'
  every?: string
  /** What was done, or would be, in this order. */
  steps: ShownStep[]
}

type ShownStep = { write: string; text: string } | { remove: string } | { run: string[]; input?: string }

/** Installs or removes the timer that sweeps; the tools it takes are loaded only here. */
export async function manageTimer({ action, everyMs = hour, dryRun }: TimerRequest): Promise<TimerData> {
  const job = action === 'install' ? sweepJob(everyMs) : undefined
  if (job !== undefined) checkTimerJob(job)
  const { planInstall, planUninstall } = await import('../../sweep/timer/plan.ts')
  const { readTimerState } = await import('../../sweep/timer/timer-state.ts')
  const { carryOut } = await import('../../sweep/timer/carry-out.ts')
  const state = readTimerState()
  const { timer, steps } =
    job !== undefined ? planInstall(state, job) : { timer: 'none' as const, steps: planUninstall(state) }
  if (!dryRun) carryOut(steps)
  const every = job !== undefined ? { every: formatDuration(everyMs) } : {}
  return { dry_run: dryRun, timer, ...every, steps: steps.map(shown) }
}

/** The same program, temp directory and home as now: whoever starts it will have another environment. */
const sweepJob = (everyMs: number): TimerJob => ({
  program: process.execPath,
  // Not by a link in some project's `node_modules/.bin`, or in a directory that is on nobody else's PATH.
  args: [realpathSync.native(process.argv[1] ?? ''), 'sweep', '--json'],
  env: { STINT_TMP_ROOT: findTmp(), ...(process.env.STINT_HOME && { STINT_HOME: stintHome() }) },
  everyMs,
})

/** Tools are given bytes; a person reads UTF-8. */
function shown(step: TimerStep): ShownStep {
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
  // What was written can be read there; what would be, only here.
  const text = dryRun ? (('write' in step ? step.text : step.input) ?? '') : ''
  const what =
    'write' in step ? `${say('write', 'wrote')} ${step.write}` : `${say('run', 'ran')} ${step.run.join(' ')}`
  return text === '' ? what : `${what}\n${text.replace(/^(?=.)/gm, '    ').trimEnd()}`
}
