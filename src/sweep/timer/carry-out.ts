import { mkdirSync, unlinkSync } from 'node:fs'
import { dirname } from 'node:path'
import { replaceFile } from '../../base/fs/atomic-file.ts'
import { codedError, errorCode, StintError } from '../../base/errors/stint-error.ts'
import type { TimerStep } from './plan.ts'
import { runTool } from './timer-state.ts'

type Write = Extract<TimerStep, { write: string }>

/** Carries out a plan, in order. If a step fails, the files that were written are restored. */
export function carryOut(steps: readonly TimerStep[]): void {
  const written: Write[] = []
  try {
    for (const step of steps) {
      carryOutOne(step)
      if ('write' in step) written.push(step)
    }
  } catch (error) {
    for (const step of written.toReversed()) undo(step)
    throw error
  }
}

function undo({ write, before }: Write): void {
  try {
    carryOutOne(before === undefined ? { remove: write } : { write, text: before, before })
  } catch {
    // The error that led here says more; the other files are still to be undone.
  }
}

function carryOutOne(step: TimerStep): void {
  if ('run' in step) return run(step.run, step.input)
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

function run(command: readonly string[], input: string | undefined): void {
  const { status, stderr } = runTool(command, input)
  if (status === 0) return
  const said = Buffer.from(stderr, 'latin1').toString().trim()
  throw new StintError('TIMER_UNSUPPORTED', `\`${command.join(' ')}\` failed${said && `: ${said}`}`, {
    detail: `status=${status ?? 'none'}`,
  })
}
