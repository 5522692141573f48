import { join } from 'node:path'
import type { CommandContext } from '../context.ts'
import { systemClock } from '../../base/process/clock.ts'
import { timerMs } from '../../base/text/duration.ts'
import { measureSteps, type TreeSize } from '../../base/fs/measure-tree.ts'
import { runInTurns } from '../../base/process/event-loop.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { metaDirectory } from '../../scratch/index.ts'
import { formatBytes } from '../../base/text/size.ts'

/** Limits on the contents of a directory; undefined means no limit. */
interface Budget {
  maxBytes: number | undefined
  maxFiles: number | undefined
}

interface BudgetWatch {
  /** Rejects with `BUDGET_EXCEEDED` while the program runs. */
  exceeded: Promise<never>
  /**
   * Measures once more after the program has ended, so that the result does not depend on the timing of the
   * checks. If the program itself failed, an exceeded budget is only a warning: its exit code says more.
   */
  finish(exitCode: number): Promise<void>
}

const checkEveryMs = 100
/** Pause after each check, as a multiple of the time it took: checks use at most 5 % of the time. */
const pausePerCheck = 19

/** Measures the run's scratch repeatedly, without the files of stint itself. */
export function watchBudget({ tmpDir, warn, onCleanup }: CommandContext, budget: Budget): BudgetWatch {
  let timer: NodeJS.Timeout | undefined
  let hasWarned = false

  const check = async (): Promise<void> => {
    const size = await runInTurns(
      measureSteps(tmpDir, {
        skip: join(tmpDir, metaDirectory),
        enough: (sofar) => isOver(sofar, budget),
      }),
    )
    if (isOver(size, budget)) throw exceededBy(size, budget)
    if (size.unreadable === 0 || hasWarned) return
    hasWarned = true
    warn('BUDGET: some directories cannot be read; their contents are not counted')
  }

  const finish = async (exitCode: number): Promise<void> => {
    try {
      await check()
    } catch (error) {
      if (exitCode === 0 || !(error instanceof StintError)) throw error
      warn(`${error.code}: ${error.message}`)
    }
  }

  const exceeded = new Promise<never>((_, reject) => {
    const checkAgain = async (): Promise<void> => {
      const began = systemClock.mono()
      try {
        await check()
        const pauseMs = Math.max(checkEveryMs, pausePerCheck * (systemClock.mono() - began))
        timer = setTimeout(() => void checkAgain(), timerMs(pauseMs)).unref()
      } catch (error) {
        reject(error as Error)
      }
    }
    timer = setTimeout(() => void checkAgain(), checkEveryMs).unref()
  })
  exceeded.catch(() => {})
  onCleanup(() => clearTimeout(timer))
  return { exceeded, finish }
}

function exceededBy(size: TreeSize, { maxBytes, maxFiles }: Budget): StintError {
  const { bytes, disk_bytes, files } = size
  const uses = [
    maxBytes === undefined ? [] : `${formatBytes(countedBytes(size))}, at most ${formatBytes(maxBytes)}`,
    maxFiles === undefined ? [] : `${files} files, at most ${maxFiles}`,
  ].flat()
  return new StintError('BUDGET_EXCEEDED', `the scratch has outgrown its budget: ${uses.join('; ')}`, {
    phase: 'execution',
    facts: { bytes, disk_bytes, files },
  })
}

/** The larger size: small files take more than their length, and some file systems count no blocks. */
const countedBytes = ({ bytes, disk_bytes }: TreeSize): number => Math.max(bytes, disk_bytes)

const isOver = (size: TreeSize, { maxBytes, maxFiles }: Budget): boolean =>
  (maxBytes !== undefined && countedBytes(size) > maxBytes) ||
  (maxFiles !== undefined && size.files > maxFiles)
