import { join } from 'node:path'
import { type Clock, systemClock } from '../base/process/clock.ts'
import type { Identity } from '../base/process/liveness.ts'
import type { OutputDirectory } from './output.ts'
import type { ScratchRoot } from './root.ts'

/** What all contexts of one scratch share. */
export interface ScratchRun {
  readonly root: ScratchRoot
  readonly requestId: string
  /** The scratch. */
  readonly path: string
  readonly clock: Clock
  /** The process whose run it is: not ours, if we have joined another's. */
  readonly owner: Identity
  /** Directories that outlive the run until they expire. */
  readonly outputs: OutputDirectory[]
  /** How many contexts there were. */
  contexts: number
  /** Does the record of tracked paths have our owner, and everything that we wrote to it? */
  recorded: boolean
  /** Has it been removed? */
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
  path: join(root.path, requestId),
  clock,
  owner,
  outputs: [],
  contexts: 0,
  recorded: false,
  gone: false,
})
