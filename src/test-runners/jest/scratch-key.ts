import type { ScratchContext } from '../../scratch/index.ts'

/** The global that passes `scratch()` to a test file, which has modules of its own. */
export const scratchKey = Symbol.for('stint.jest')

/** The context of the running test; `concurrent` while Jest does not tell which of several calls. */
export type CurrentScratch = ScratchContext | 'concurrent' | undefined
