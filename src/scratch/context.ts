import { lstatSync, renameSync, rmdirSync, type Stats } from 'node:fs'
import { basename, join, relative, sep } from 'node:path'
import { explained, ifPossible, succeeds } from '../base/errors/if-possible.ts'
import { codedError, StintError } from '../base/errors/stint-error.ts'
import {
  nothingRemoved,
  type Removal,
  type RemovalOptions,
  removeTree,
  totalRemoval,
} from '../base/fs/remove-tree.ts'
import { type Clock, systemClock } from '../base/process/clock.ts'
import type { Identity } from '../base/process/liveness.ts'
import {
  logContext,
  makeContextDirectory,
  createDirectory,
  createFile,
  makePathIn,
  type OutputDirectory,
  outputDirectoryFor,
  safeNameParts,
} from './create-in.ts'
import type { ScratchRoot } from './root.ts'
import { identifyForTracking, removeOwnTracked, type TrackedPath } from './tracked.ts'
import { recordTracked } from './tracked-record.ts'
import { removeUnlessMounted } from './trash.ts'

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

export interface ContextOptions {
  /** A source file, such as the test file. `stint temp why` shows it. */
  file?: string
}

/**
 * A part of a scratch with files of its own, for example for one test. Cleaning it leaves the rest of the
 * scratch alone. Contexts nest: cleaning an outer one cleans its inner ones. Each can then be used again.
 */
export class ScratchContext {
  /** As `outer > inner`; empty for the scratch itself. */
  readonly name: string
  /** @internal */
  protected readonly run: ScratchRun
  readonly #file: string | undefined
  readonly #makeDirectory: () => string
  #directory: string | undefined
  #identity: { dev: number; ino: number } | undefined
  /** Whether a file was created in the directory through this context. */
  #filled = false
  #tracked: TrackedPath[] = []
  #outer: ScratchContext | undefined
  /** Inner contexts that have something to clean. */
  readonly #inner = new Set<ScratchContext>()
  #unnamed = 0

  /** @internal */
  constructor(run: ScratchRun, name: string, makeDirectory: () => string, options: ContextOptions = {}) {
    this.run = run
    this.name = name
    this.#file = options.file
    this.#makeDirectory = makeDirectory
  }

  /** The directory of this context; created on first use. */
  get path(): string {
    if (this.#directory === undefined) {
      this.#enlist()
      this.#directory = this.#makeDirectory()
      this.#identity = lstatIfPossible(this.#directory)
      this.#filled = false
    }
    return this.#directory
  }

  /** Whether the directory has been created. */
  get used(): boolean {
    return this.#directory !== undefined
  }

  /** Creates a new file, 0600, and returns its path. Creates the directories in the name as needed. */
  file(name?: string, content: string | Uint8Array = ''): string {
    const path = makePathIn(this.path, name === undefined ? [this.#nextName('file')] : safeNameParts(name))
    createFile(path, content)
    this.#filled = true
    return path
  }

  /** Creates a new directory, 0700, and returns its path. */
  dir(name?: string): string {
    const path = makePathIn(this.path, name === undefined ? [this.#nextName('dir')] : safeNameParts(name))
    createDirectory(path)
    return path
  }

  /**
   * Marks a path outside the scratch to be removed with this context; returns its real path. Track a path
   * once it exists: only then can a sweep remove it after a crash.
   */
  track(path: string): string {
    const { run } = this
    if (run.gone) throw new StintError('NOT_FOUND', 'the scratch that should track it is gone')
    const tracked = identifyForTracking(path, run.root, this.name || undefined)
    recordTracked(run, tracked)
    this.#tracked.push(tracked)
    this.#enlist()
    return tracked.path
  }

  /** Returns a new context within this one. */
  context(name: string, options: ContextOptions = {}): ScratchContext {
    const full = this.name === '' ? name : `${this.name} > ${name}`
    const { run } = this
    const makeDirectory = (): string => {
      run.contexts += 1
      return makeContextDirectory(this.path, {
        scratch: run.path,
        count: run.contexts,
        name: full,
        ...options,
      })
    }
    const inner = new ScratchContext(run, full, makeDirectory, options)
    inner.#outer = this
    return inner
  }

  /** Creates a file, calls `use` with its path, and removes it afterwards, even if `use` throws. */
  async withFile<Result>(
    use: (path: string) => Result | Promise<Result>,
    { name, content }: { name?: string; content?: string | Uint8Array } = {},
  ): Promise<Result> {
    return await this.#using(this.file(name, content), use)
  }

  /** Creates a directory, calls `use` with its path, and removes it afterwards, even if `use` throws. */
  async withDir<Result>(
    use: (path: string) => Result | Promise<Result>,
    { name }: { name?: string } = {},
  ): Promise<Result> {
    return await this.#using(this.dir(name), use)
  }

  /**
   * Removes everything in this context and its inner contexts, and the paths they track: files first, then
   * directories, deepest first. Never throws: `failures` lists what could not be removed.
   */
  clean(options: Pick<RemovalOptions, 'measure'> = {}): Removal {
    if (this.#outer !== undefined) this.#outer.#inner.delete(this)
    return totalRemoval([this.cleanTracked(options), this.#cleanDirectory(options)])
  }

  /** Moves the directory out of the scratch for `keepSeconds` (a day); returns the new path. */
  keep(keepSeconds: number = 86_400): string {
    const output = outputDirectoryFor(this.run, keepSeconds)
    const keptPath = join(output, keptName(this.run.path, this.path))
    explained(
      (error) => codedError(error, `keep ${this.path}`),
      () => renameSync(this.path, keptPath),
    )
    this.#forgetDirectories()
    try {
      logContext(output, keptPath, this.name, this.#file)
    } catch {
      // The files are kept; only `stint temp why` cannot name their context.
    }
    return keptPath
  }

  [Symbol.dispose](): void {
    this.clean()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.clean()
  }

  /** @internal Removes the paths tracked by this context and its inner ones, and forgets the inner ones. */
  protected cleanTracked(options: RemovalOptions = {}): Removal {
    const inner = [...this.#inner].map((context) => context.cleanTracked(options))
    for (const context of this.#inner) context.#forgetDirectories()
    this.#inner.clear()
    const tracked = this.#tracked
    this.#tracked = []
    if (tracked.length === 0) return totalRemoval(inner)
    return totalRemoval([...inner, removeOwnTracked(tracked, options)])
  }

  #cleanDirectory(options: RemovalOptions): Removal {
    const directory = this.#directory
    if (directory === undefined) return nothingRemoved()
    this.#directory = undefined
    if (!this.#filled && succeeds(() => rmdirSync(directory))) return { ...nothingRemoved(), removed: 1 }
    const remove = hasNoMount(directory, this.#identity) ? removeTree : removeUnlessMounted
    return remove(directory, options)
  }

  async #using<Result>(path: string, use: (path: string) => Result | Promise<Result>): Promise<Result> {
    try {
      return await use(path)
    } finally {
      removeUnlessMounted(path, {})
    }
  }

  /** Forgets the directories of this and inner contexts, which are gone or moved; each makes a new one. */
  #forgetDirectories(): void {
    this.#directory = undefined
    for (const context of this.#inner) context.#forgetDirectories()
  }

  /** Registers this context with its outer ones as having something to clean. */
  #enlist(): void {
    if (this.#outer === undefined) return
    this.#outer.#inner.add(this)
    this.#outer.#enlist()
  }

  #nextName(kind: string): string {
    this.#unnamed += 1
    return `${kind}-${this.#unnamed}`
  }
}

/** A name that is unique in the scratch: processes that joined it number their contexts independently. */
const keptName = (scratch: string, path: string): string =>
  relative(scratch, path).replaceAll(sep, '-') || basename(path)

/**
 * Proves that nothing is mounted on a directory or beneath it, without reading the long list of mounts: it is
 * still the one that was made, and has two links, so it has no subdirectory. File systems that do not count
 * links fail this.
 */
function hasNoMount(path: string, identity: { dev: number; ino: number } | undefined): boolean {
  const now = lstatIfPossible(path)
  return now !== undefined && now.dev === identity?.dev && now.ino === identity.ino && now.nlink === 2
}

const lstatIfPossible = (path: string): Stats | undefined => ifPossible(() => lstatSync(path))
