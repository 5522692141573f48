import { lstatSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { type Clock, systemClock } from '../primitives/clock.ts'
import { newRequestId } from '../primitives/id.ts'
import { ownIdentity } from '../primitives/liveness.ts'
import { displayHostname } from '../primitives/platform.ts'
import { createPrivateFile, makePrivateDirectory } from '../primitives/private-file.ts'
import { removeTree, type Removal } from '../primitives/remove-tree.ts'
import { codedError, errnoOf, StintError } from '../primitives/stint-error.ts'
import { discard, discardBare, moveToTrash } from './discard.ts'
import type { Keep } from './keep.ts'
import { safeNameParts } from './name.ts'
import { defaultKeepSeconds, makeOutputDirectory, type OutputDirectory } from './output.ts'
import { metaDirectory, writeOwner } from './owner.ts'
import { openRoot, type ScratchRoot } from './root.ts'
import { stagingName } from './staging.ts'
import { recordTracked, removeOwnTracked } from './tracked.ts'

export interface ScratchOptions {
  requestId?: string
  sessionId?: string
  /** The run this one was started in. */
  parentRequestId?: string
  /** Name of the program, for whoever looks at leftovers. */
  command?: string
  keep?: Keep
  root?: ScratchRoot
  clock?: Clock
}

/**
 * The temp directory of one run: private (0700, files 0600), removed with everything in it.
 *
 * @example
 * await using scratch = createScratch()
 * const input = scratch.file('input.json', '{}')
 */
export class Scratch {
  readonly requestId: string
  readonly path: string
  readonly root: ScratchRoot
  /** Directories made by `output`: they outlive the run until they expire. */
  readonly outputs: OutputDirectory[] = []
  readonly #clock: Clock
  readonly #metaInode: number
  readonly #tracked: string[] = []
  #unnamed = 0
  #gone = false

  /** @internal */
  constructor(root: ScratchRoot, requestId: string, clock: Clock, metaInode: number) {
    this.root = root
    this.requestId = requestId
    this.path = join(root.path, requestId)
    this.#clock = clock
    this.#metaInode = metaInode
    removeAtExit(this)
  }

  /** Creates a new file, 0600, and returns its path. A name may have directories: they are made as needed. */
  file(name?: string, content: string | Uint8Array = ''): string {
    const path = this.#place(name ?? this.#nextName('file'))
    createFile(path, content)
    return path
  }

  /** Creates a new directory, 0700, and returns its path. */
  dir(name?: string): string {
    const path = this.#place(name ?? this.#nextName('dir'))
    try {
      makePrivateDirectory(path)
    } catch (error) {
      throw placeError(error, path)
    }
    return path
  }

  /** Something elsewhere that must go when this scratch goes. Track it once it exists: then a sweep can, too. */
  track(path: string): string {
    const tracked = recordTracked(this.root, this.requestId, path)
    this.#tracked.push(tracked)
    return tracked
  }

  /** Creates a file for the caller, which stays for `keepSeconds` (5 minutes) after the run; if that fails, it goes. */
  output(name: string, options: { keepSeconds?: number; content?: string | Uint8Array } = {}): string {
    const parts = safeNameParts(name)
    const keepSeconds = options.keepSeconds ?? defaultKeepSeconds
    if (!Number.isSafeInteger(keepSeconds) || keepSeconds < 0) {
      throw new StintError('ARG_ERROR', `keepSeconds must be a whole number of seconds, not ${keepSeconds}`)
    }
    let directory = this.outputs.find((output) => output.keepSeconds === keepSeconds)
    if (directory === undefined) {
      directory = makeOutputDirectory(this.root, this.requestId, keepSeconds, this.#clock.now())
      this.outputs.push(directory)
    }
    const path = place(directory.path, parts)
    createFile(path, options.content ?? '')
    return path
  }

  /** Removes the scratch and what it tracks. Never throws: what could not be removed is in `failures`. */
  remove(): Removal {
    return this.#end(() =>
      discardBare(this.root, this.path, this.#metaInode)
        ? { removed: 3, bytes: 0, failures: [], complete: true }
        : discard(this.root, this.path),
    )
  }

  /** The same, but what is in the scratch is only moved to the trash, for somebody else to delete. */
  moveToTrash(): Removal {
    return this.#end(() => {
      const moved = moveToTrash(this.root, this.path)
      return {
        removed: 0,
        bytes: 0,
        failures: [],
        complete: false,
        ...(typeof moved === 'string' ? {} : moved),
      }
    })
  }

  /** Leaves the scratch where it is: nobody removes it but a sweep. */
  release(): void {
    this.#gone = true
    live.delete(this)
  }

  [Symbol.dispose](): void {
    this.remove()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.remove()
  }

  #end(discardScratch: () => Removal): Removal {
    if (this.#gone) return { removed: 0, bytes: 0, failures: [], complete: true }
    this.release()
    const total = discardScratch()
    if (this.#tracked.length > 0) {
      const { removed, failures } = removeOwnTracked(this.root, this.requestId, this.#tracked)
      total.removed += removed
      total.failures.push(...failures)
    }
    return total
  }

  #nextName(kind: string): string {
    this.#unnamed += 1
    return `${kind}-${this.#unnamed}`
  }

  #place(name: string): string {
    return place(this.path, safeNameParts(name))
  }
}

/** Makes a scratch: exclusive, private, its owner record inside before it is visible. */
export function createScratch(options: ScratchOptions = {}): Scratch {
  const clock = options.clock ?? systemClock
  const root = options.root ?? openRoot()
  const requestId = options.requestId ?? newRequestId()
  const identity = ownIdentity()
  const staging = join(root.path, stagingName(requestId, identity))
  let metaInode: number
  try {
    makePrivateDirectory(staging)
    makePrivateDirectory(join(staging, metaDirectory))
    metaInode = lstatSync(join(staging, metaDirectory)).ino
    writeOwner(staging, {
      schema_version: 1,
      request_id: requestId,
      session_id: options.sessionId ?? null,
      parent_request_id: options.parentRequestId ?? null,
      identity,
      hostname: displayHostname(),
      created_at: clock.now(),
      command: options.command ?? null,
      keep: options.keep ?? 'never',
    })
    const path = join(root.path, requestId)
    renameSync(staging, path)
  } catch (error) {
    removeTree(staging)
    throw codedError(error, `make a scratch in ${root.path}`)
  }
  return new Scratch(root, requestId, clock, metaInode)
}

const live = new Set<Scratch>()
let exitHooked = false

// The last chance of a process that ends without removing its scratches; the sweep takes care of the rest.
function removeAtExit(scratch: Scratch): void {
  live.add(scratch)
  if (exitHooked) return
  exitHooked = true
  process.on('exit', () => {
    for (const scratch of live) scratch.remove()
  })
}

/** Joins, making the directories on the way; a symlink on the way is refused, not followed. */
function place(base: string, parts: string[]): string {
  let path = base
  for (const part of parts.slice(0, -1)) {
    path = join(path, part)
    try {
      makePrivateDirectory(path)
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST' || !lstatSync(path).isDirectory()) throw placeError(error, path)
    }
  }
  return join(path, parts.at(-1) ?? '')
}

function createFile(path: string, content: string | Uint8Array): void {
  try {
    createPrivateFile(path, content)
  } catch (error) {
    throw placeError(error, path)
  }
}

function placeError(error: unknown, path: string): unknown {
  if (errnoOf(error) !== 'EEXIST') return codedError(error, `create ${path}`)
  return new StintError('NAME_TAKEN', `${path} already exists`, { cause: error })
}
