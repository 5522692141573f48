import { type Clock, systemClock } from '../base/process/clock.ts'
import type { Identity } from '../base/process/liveness.ts'
import type { OutputDirectory } from './output.ts'
import type { ScratchRoot } from './root.ts'

/** The state that all contexts of one scratch share. */
export interface ScratchRun {
  readonly root: ScratchRoot
  readonly requestId: string
  /** The directory of the scratch. */
  readonly path: string
  readonly clock: Clock
  /** The process that owns the scratch: another one if this process has joined it. */
  readonly owner: Identity
  /** Directories that outlive the run until they expire. */
  readonly outputs: OutputDirectory[]
  /** How many contexts have had a directory. */
  contexts: number
  /** Whether the record of tracked paths has the owner, and ends with a whole line. */
  recorded: boolean
  /** Whether the scratch has been removed. */
  gone: boolean
}

export const newScratchRun = (
  root: ScratchRoot,
  requestId: string,
  owner: Identity,
  clock: Clock = systemClock,
): ScratchRun => ({
  root,
  requestId,
  path: `${root.runs}/${requestId}`,
  clock,
  owner,
  outputs: [],
  contexts: 0,
  recorded: false,
  gone: false,
})
