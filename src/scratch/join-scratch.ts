import { basename, dirname, join } from 'node:path'
import { isRequestId, ulid } from '../base/text/id.ts'
import { isRealDirectory } from '../base/fs/exists.ts'
import { liveness } from '../base/process/liveness.ts'
import { ScratchContext } from './context.ts'
import { createDirectory } from './create-in.ts'
import { readOwner } from './owner.ts'
import { findRoot, type ScratchRoot } from './root.ts'
import { newScratchRun } from './scratch-run.ts'

/**
 * Opens a part of a scratch that another process owns, such as the parent of a test worker. The owner removes
 * it, even if this process is killed. Undefined if there is no scratch at `given`, or if its owner is dead.
 */
export function joinScratch(given: string): ScratchContext | undefined {
  // The owner record lies beside the scratch: its name is that of the path without a slash at the end.
  const path = given.replace(/\/+$/, '')
  const owner = readOwner(path)
  const root = owner && rootAbove(path)
  const requestId = basename(path)
  if (owner === undefined || root === undefined || !isRequestId(requestId)) return undefined
  if (!isRealDirectory(path) || liveness(owner.identity) === 'dead') return undefined
  const run = newScratchRun(root, requestId, owner.identity)
  return new ScratchContext(run, '', () => makePart(path))
}

function rootAbove(path: string): ScratchRoot | undefined {
  const root = findRoot({ STINT_TMP_ROOT: dirname(dirname(dirname(path))) })
  return root?.runs === dirname(path) ? root : undefined
}

/** The name is random, because several processes can join at once. */
function makePart(scratch: string): string {
  const path = join(scratch, `w-${ulid().slice(-8)}`)
  createDirectory(path)
  return path
}
