/**
 * The door of scratches: a temp directory for each run, contexts within it, and paths elsewhere that go with
 * it. `sweep/`, which judges and removes what dead runs left of all this, also reads the records behind the
 * door.
 */
export { ChildrenRecord, type Keep, keepPolicies } from './owner.ts'
export {
  shouldKeep,
  joinScratch,
  createScratch,
  type Scratch,
  type ScratchOptions,
  scratchVariables,
  tmpdirVariables,
} from './scratch.ts'
export { type ContextOptions, ScratchContext } from './context.ts'
export { cleanupCommand, metaDirectory, type OutputDirectory } from './create-in.ts'
export { findRoot, findTmp, rootOf, type ScratchRoot } from './root.ts'
export { moveToTrash, removeViaTrash } from './trash.ts'
