import { utimesSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../base/process/clock.ts'
import { isRequestId } from '../base/text/id.ts'
import { shellWord } from '../base/text/escape.ts'
import { StintError } from '../base/errors/stint-error.ts'
import { ensureScratchDirectory, type ScratchRoot } from './root.ts'

/** Files handed to the caller: `out/<expiry>-<requestId>/`, the earliest expiry in seconds since the epoch. */
export interface OutputDirectory {
  path: string
  keepSeconds: number
}

export const defaultKeepSeconds = 300

function makeOutputDirectory(
  root: ScratchRoot,
  requestId: string,
  keepSeconds: number,
  now: number,
): OutputDirectory {
  ensureScratchDirectory(root.out)
  const path = join(root.out, `${Math.ceil(now / 1000) + keepSeconds}-${requestId}`)
  ensureScratchDirectory(path)
  return { path, keepSeconds }
}

/** The run's directory for files that are kept this long. */
export function outputDirectoryFor(
  { outputs, root, requestId, clock }: RunWithOutputs,
  keepSeconds: number,
): string {
  if (!Number.isSafeInteger(keepSeconds) || keepSeconds < 0)
    throw new StintError('ARG_ERROR', `keepSeconds must be a whole number of seconds, not ${keepSeconds}`)
  let directory = outputs.find((output) => output.keepSeconds === keepSeconds)
  if (directory === undefined) {
    directory = makeOutputDirectory(root, requestId, keepSeconds, clock.now())
    outputs.push(directory)
  }
  return directory.path
}

interface RunWithOutputs {
  outputs: OutputDirectory[]
  root: ScratchRoot
  requestId: string
  clock: Clock
}

/** Their time counts from the end of the run: said by the directory's own modification time, which lies in the future. */
export function startExpiry(directories: readonly OutputDirectory[], now: number): void {
  for (const { path, keepSeconds } of directories) {
    try {
      utimesSync(path, now / 1000, now / 1000 + keepSeconds)
    } catch {
      // The command has removed it itself.
    }
  }
}

/** When an entry of `out/` expires, in milliseconds; undefined if its name is not one of ours. */
export function outputExpiry(name: string): number | undefined {
  const [, seconds, requestId = ''] = /^(\d{1,12})-(.*)$/.exec(name) ?? []
  return isRequestId(requestId) ? Number(seconds) * 1000 : undefined
}

/** What the caller can run, verbatim, to be rid of the files before they expire. */
export function cleanupCommand(directories: readonly OutputDirectory[]): string {
  return `rm -rf -- ${directories.map(({ path }) => shellWord(path)).join(' ')}`
}
