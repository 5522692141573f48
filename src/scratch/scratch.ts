import { existsSync, rmdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { succeeds } from '../base/errors/if-possible.ts'
import { codedError, errorCode, StintError } from '../base/errors/stint-error.ts'
import { isRealDirectory } from '../base/fs/exists.ts'
import { makePrivateDirectory } from '../base/fs/private-file.ts'
import { nothingRemoved, type Removal, totalRemoval } from '../base/fs/remove-tree.ts'
import type { Clock } from '../base/process/clock.ts'
import { runToEnd } from '../base/process/event-loop.ts'
import { liveness, ownIdentity } from '../base/process/liveness.ts'
import { isRequestId, newRequestId, ulid } from '../base/text/id.ts'
import { newScratchRun, ScratchContext, type ScratchRun } from './context.ts'
import {
  createDirectory,
  createFile,
  defaultKeepSeconds,
  makePathIn,
  type OutputDirectory,
  outputDirectoryFor,
  safeNameParts,
  startExpiry,
} from './create-in.ts'
import { type Keep, type Owner, readOwner, writeOwner } from './owner.ts'
import { removeOwner, moveToTrash, removeViaTrash } from './trash.ts'
import { ensureScratchDirectory, findRoot, openRoot, type ScratchRoot } from './root.ts'
import { removeDeadTracked } from './tracked-record.ts'

export interface ScratchOptions {
  requestId?: string
  sessionId?: string
  /** The run in which this run was started. */
  parentRequestId?: string
  /** Name of the program. `stint temp` shows it for leftovers. */
  command?: string
  keep?: Keep
  root?: ScratchRoot
  clock?: Clock
}

/**
 * The temp directory of one run: private (0700, files 0600), and removed with everything in it. It is the
 * outermost context.
 *
 * @example
 * await using scratch = createScratch()
 * const input = scratch.file('input.json', '{}')
 */
export class Scratch extends ScratchContext {
  #released = false

  /** @internal */
  constructor(run: ScratchRun) {
    super(run, '', () => run.path)
    removeAtExit(this)
  }

  get requestId(): string {
    return this.run.requestId
  }

  get root(): ScratchRoot {
    return this.run.root
  }

  /** Directories made by `output`. They outlive the run until they expire. */
  get outputs(): OutputDirectory[] {
    return this.run.outputs
  }

  /**
   * Creates a file for the caller. It stays for `keepSeconds` (5 minutes) after the scratch is gone. If the
   * command fails, it is removed with the scratch.
   */
  output(name: string, options: { keepSeconds?: number; content?: string | Uint8Array } = {}): string {
    const parts = safeNameParts(name)
    const directory = outputDirectoryFor(this.run, options.keepSeconds ?? defaultKeepSeconds)
    const path = makePathIn(directory, parts)
    createFile(path, options.content ?? '')
    return path
  }

  /** Removes the scratch and the paths it tracks. Never throws: `failures` lists what is left. */
  remove(): Removal {
    return this.#end(() => {
      const { root, path } = this.run
      // Most are empty at their end. Then the owner goes last: after a crash, a sweep finds it alone.
      if (succeeds(() => rmdirSync(path))) {
        removeOwner(path)
        return { ...nothingRemoved(), removed: 1 }
      }
      return removeViaTrash(root, path)
    })
  }

  /** Throws: a whole scratch is not moved. `release` leaves it where it is. */
  override keep(): never {
    throw new StintError(
      'ARG_ERROR',
      'only a context within a scratch can be kept; `release` leaves a scratch as it is',
    )
  }

  /** Removes the scratch, like `remove`: the outermost context cannot be used again. */
  override clean(): Removal {
    return this.remove()
  }

  /** Like `remove`, but only moves the scratch to the trash, for the guard or a sweep to delete. */
  moveToTrash(): Removal {
    return this.#end(() => {
      const moved = moveToTrash(this.root, this.path)
      return { ...nothingRemoved(), complete: false, ...(typeof moved === 'string' ? {} : moved) }
    })
  }

  /** Leaves the scratch where it is. Only a sweep removes it. */
  release(): void {
    if (this.#released) return
    this.#released = true
    live.delete(this)
    if (this.outputs.length > 0) startExpiry(this.outputs, this.run.clock.now())
  }

  #end(discardScratch: () => Removal): Removal {
    if (this.#released) return nothingRemoved()
    this.release()
    this.run.gone = true
    // Tracked paths first: if this process is killed in between, a sweep finds the scratch and starts again.
    const ownRemoval = this.cleanTracked()
    if (!existsSync(`${this.root.tracked}/${this.requestId}`))
      return totalRemoval([discardScratch(), ownRemoval])
    // Then the paths tracked by processes that joined this scratch. The record repeats our own failures.
    const reported = new Set(ownRemoval.failures.map(({ path }) => path))
    const others = runToEnd(removeDeadTracked(this.root, this.requestId)).map(({ removal }) => ({
      ...removal,
      failures: removal.failures.filter(({ path }) => !reported.has(path)),
    }))
    return totalRemoval([discardScratch(), ownRemoval, ...others])
  }
}

/** Makes a scratch, after the record of its owner. */
export function createScratch(options: ScratchOptions = {}): Scratch {
  const root = options.root ?? openRoot()
  const { requestId = newRequestId() } = options
  if (options.requestId !== undefined && !isRequestId(requestId))
    throw new StintError('ARG_ERROR', `${JSON.stringify(requestId.slice(0, 80))} is not a request id`, {
      hint: 'Leave it out, or make one with `newRequestId()`.',
    })
  const run = newScratchRun(root, requestId, ownIdentity(), options.clock)
  try {
    makeOwned(run, {
      identity: run.owner,
      session_id: options.sessionId ?? null,
      parent_request_id: options.parentRequestId ?? null,
      command: options.command ?? null,
      keep: options.keep ?? 'never',
    })
  } catch (error) {
    throw creationError(error, run)
  }
  return new Scratch(run)
}

function makeOwned({ root, path }: ScratchRun, owner: Omit<Owner, 'created_at'>): void {
  try {
    writeOwner(path, owner)
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error
    // The directory of the scratches was removed since the root was opened.
    ensureScratchDirectory(root.runs)
    writeOwner(path, owner)
  }
  try {
    makePrivateDirectory(path)
  } catch (error) {
    removeOwner(path)
    throw error
  }
}

function creationError(error: unknown, { root, path }: ScratchRun): unknown {
  if (!['ENOTEMPTY', 'EEXIST'].includes(errorCode(error) ?? ''))
    return codedError(error, `make a scratch in ${root.path}`)
  return new StintError('NAME_TAKEN', `${path} already exists`, { cause: error })
}

const live = new Set<Scratch>()
let exitHooked = false

// For a process that exits without removing its scratches. After a kill, a sweep removes them.
function removeAtExit(scratch: Scratch): void {
  live.add(scratch)
  if (exitHooked) return
  exitHooked = true
  process.on('exit', () => {
    for (const scratch of live) scratch.remove()
  })
}

/** Does a scratch with this policy stay when its run ends? */
export const shouldKeep = (policy: Keep, failed: boolean): boolean =>
  policy === 'always' || (policy === 'on-failure' && failed)

/** The variables from which programs take the temp directory. */
export const tmpdirVariables = (path: string): Record<string, string> => ({
  TMPDIR: path,
  TEMP: path,
  TMP: path,
})

/** The variables for the children of a run. `tmp` is their temp directory, in the scratch. */
export const scratchVariables = (
  { path, root, requestId }: Scratch,
  tmp: string = path,
): Record<string, string> => ({
  ...tmpdirVariables(tmp),
  STINT_TMP_DIR: path,
  STINT_TMP_ROOT: root.tmp,
  STINT_REQUEST_ID: requestId,
})

/**
 * Opens a part of a scratch that another process owns, such as the parent of a test worker. The owner removes
 * it, even if this process is killed. Undefined if there is no scratch at `given`, or if its owner is dead.
 */
export function joinScratch(directory: string): ScratchContext | undefined {
  // The owner record lies beside the scratch: its name is that of the path without a slash at the end.
  const path = directory.replace(/\/+$/, '')
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
