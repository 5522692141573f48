import { utimesSync } from 'node:fs'
import { join } from 'node:path'
import { isRequestId } from '../base/text/id.ts'
import { shellWord } from '../base/text/escape.ts'
import { StintError } from '../base/errors/stint-error.ts'
import { ensureScratchDirectory } from './root.ts'
import type { ScratchRun } from './scratch-run.ts'

/** Files for the caller: `out/<requestId>-<expiry>/`, with the earliest expiry in seconds since the epoch. */
export interface OutputDirectory {
  path: string
  keepSeconds: number
}

export const defaultKeepSeconds = 300

/** The run's directory for files that are kept this long; made on first use. */
export function outputDirectoryFor(
  { outputs, root, requestId, clock }: Pick<ScratchRun, 'outputs' | 'root' | 'requestId' | 'clock'>,
  keepSeconds: number,
): string {
  if (!Number.isSafeInteger(keepSeconds) || keepSeconds < 0)
    throw new StintError('ARG_ERROR', `keepSeconds must be a whole number of seconds, not ${keepSeconds}`)
  const known = outputs.find((output) => output.keepSeconds === keepSeconds)
  if (known !== undefined) return known.path
  const path = join(root.out, `${requestId}-${Math.ceil(clock.now() / 1000) + keepSeconds}`)
  for (const directory of [root.out, path]) ensureScratchDirectory(directory)
  outputs.push({ path, keepSeconds })
  return path
}

/** Starts the time to keep: sets the modification time of each directory to its expiry, in the future. */
export function startExpiry(directories: readonly OutputDirectory[], now: number): void {
  for (const { path, keepSeconds } of directories) {
    try {
      utimesSync(path, now / 1000, now / 1000 + keepSeconds)
    } catch {
      // The program has removed the directory itself.
    }
  }
}

/** The earliest expiry in a name of `out/`, in milliseconds since the epoch; undefined for other names. */
export function outputExpiry(name: string): number | undefined {
  const [, requestId = '', seconds] = /^(\w+)-(\d{1,12})$/.exec(name) ?? []
  return isRequestId(requestId) ? Number(seconds) * 1000 : undefined
}

/** The shell command that removes the files before they expire. */
export function cleanupCommand(directories: readonly OutputDirectory[]): string {
  return `rm -rf -- ${directories.map(({ path }) => shellWord(path)).join(' ')}`
}
