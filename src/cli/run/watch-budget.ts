import { join } from 'node:path'
import type { CommandContext } from '../../command/context.ts'
import { type Budget, budgetLevel } from '../../sweep/inventory/budget.ts'
import { systemClock } from '../../base/process/clock.ts'
import { timerMs } from '../../base/text/duration.ts'
import { measureSteps, type TreeSize } from '../../base/fs/measure-tree.ts'
import { runInTurns } from '../../base/process/run-generator.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { metaDirectory } from '../../scratch/index.ts'
import { describeUse, warnOfBudget } from '../budget-text.ts'

export interface BudgetWatch {
  /** Rejects with `BUDGET_EXCEEDED` while the program runs. */
  exceeded: Promise<never>
  /**
   * The last look, when it has ended: whether a budget was kept must not depend on when somebody looked. The exit code of a
   * program that has failed by itself tells more: then it is a warning.
   */
  finish(exitCode: number): Promise<void>
}

const lookEveryMs = 100
/** A look at a large scratch takes time: for every part of it, so many parts of rest, which makes at most 5 %. */
const restShare = 19

/** Measures the run's scratch now and then, without what we have put there ourselves. */
export function watchBudget({ tmpDir, warn, onCleanup }: CommandContext, budget: Budget): BudgetWatch {
  let timer: NodeJS.Timeout | undefined
  const said = new Set<string>()
  const once = (about: string, say: () => void): void => {
    if (said.has(about)) return
    said.add(about)
    say()
  }

  const look = async (): Promise<void> => {
    const size = await runInTurns(
      measureSteps(tmpDir, {
        skip: join(tmpDir, metaDirectory),
        enough: (sofar) => budgetLevel(sofar, budget) === 'over',
      }),
    )
    const level = budgetLevel(size, budget)
    if (level === 'over') throw exceededBy(size, budget)
    if (level === 'near') once('near', () => warnOfBudget(size, budget, warn))
    if (size.unreadable > 0)
      once('unreadable', () =>
        warn('BUDGET: some directories cannot be read; what is in them is not counted'),
      )
  }

  const finish = async (exitCode: number): Promise<void> => {
    try {
      await look()
    } catch (error) {
      if (exitCode === 0 || !(error instanceof StintError)) throw error
      warn(`${error.code}: ${error.message}`)
    }
  }

  const exceeded = new Promise<never>((_, reject) => {
    const lookAgain = async (): Promise<void> => {
      const began = systemClock.mono()
      try {
        await look()
        const restMs = Math.max(lookEveryMs, restShare * (systemClock.mono() - began))
        timer = setTimeout(() => void lookAgain(), timerMs(restMs)).unref()
      } catch (error) {
        reject(error as Error)
      }
    }
    timer = setTimeout(() => void lookAgain(), lookEveryMs).unref()
  })
  exceeded.catch(() => {})
  onCleanup(() => clearTimeout(timer))
  return { exceeded, finish }
}

function exceededBy({ bytes, files }: TreeSize, budget: Budget): StintError {
  const { maxBytes, maxFiles } = budget
  const limit = maxBytes !== undefined && bytes > maxBytes ? `max-bytes:${maxBytes}` : `max-files:${maxFiles}`
  return new StintError(
    'BUDGET_EXCEEDED',
    `the scratch has outgrown its budget: ${describeUse({ bytes, files }, budget)}`,
    { detail: `bytes=${bytes} files=${files} limit=${limit}`, phase: 'execution', facts: { bytes, files } },
  )
}
