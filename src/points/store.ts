import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ifPossible } from '../base/errors/if-possible.ts'
import { codedError, StintError } from '../base/errors/stint-error.ts'
import { replaceFile } from '../base/fs/atomic-file.ts'
import { listIfReadable } from '../base/fs/exists.ts'
import { ensureHome, ensureHomeDirectory, stintHome, withHomeErrors } from '../base/fs/home.ts'
import { bytePath, latin1Of } from '../base/fs/paths.ts'
import { readSmallFile } from '../base/fs/regular-file.ts'
import { removeTree } from '../base/fs/remove-tree.ts'
import { isString, parseObject } from '../base/text/fields.ts'
import { newSessionId } from '../base/text/id.ts'
import { md5 } from '../base/text/md5.ts'
import { acquireLease } from '../lease/index.ts'
import { environmentWithoutGit, type GitOptions, gitOutput } from './git.ts'
import { seedIndex } from './store-index.ts'
import { maxFiles, pointsProblem, rawAttributes, readUserRepository } from './user-repository.ts'
import type { UserRepository } from './user-repository.ts'

/** What a store knows about its worktree: the contents of `store.json`. */
interface StoreFacts {
  root: string
  git_directory: string
  common_directory: string
  object_format: string
  /** False where the file system has no executable bit (`core.fileMode`). */
  trusts_modes: boolean
}

/** The restore points of one worktree, in a git directory of stint's own. */
export class PointStore {
  readonly key: string
  readonly facts: StoreFacts
  /** When a git process of this object is stopped, on the clock of `Date.now`. */
  readonly deadline: number | undefined
  readonly directory: string
  readonly #latin1Root: string

  constructor(key: string, facts: StoreFacts, deadline?: number) {
    this.key = key
    this.facts = facts
    this.deadline = deadline
    this.directory = storeDirectory(key)
    this.#latin1Root = latin1Of(facts.root)
  }

  get root(): string {
    return this.facts.root
  }

  /** A file of the store. */
  file(name: string): string {
    return join(this.directory, name)
  }

  /** A path of the worktree, given in Latin-1, in a form that `node:fs` takes. */
  pathOf(path: string): string | Buffer {
    return bytePath(`${this.#latin1Root}/${path}`)
  }

  /** Runs git on this store with its own config, and returns what it printed. */
  git(args: readonly string[], options: GitOptions = {}): Promise<Buffer> {
    return gitOutput(args, this.gitOptions(options))
  }

  gitOptions({ env, ...options }: GitOptions = {}): GitOptions {
    // A worktree that is gone still has points.
    const cwd = existsSync(this.root) ? this.root : this.directory
    const places = { GIT_DIR: this.file('git'), GIT_WORK_TREE: this.root }
    return { cwd, deadline: this.deadline, ...options, env: { ...isolatedEnvironment(), ...places, ...env } }
  }
}

/** No config, attributes or identity of the user's, and names of files are never patterns. */
const isolatedEnvironment = (): NodeJS.ProcessEnv => ({
  ...environmentWithoutGit(),
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_LITERAL_PATHSPECS: '1',
  GIT_AUTHOR_NAME: 'stint',
  GIT_AUTHOR_EMAIL: 'stint@localhost',
  GIT_COMMITTER_NAME: 'stint',
  GIT_COMMITTER_EMAIL: 'stint@localhost',
})

/** The key of a worktree's store: that of its claims. */
export const storeKey = (root: string): string => md5(root).slice(0, 12)

export const storeDirectory = (key: string): string => join(stintHome(), 'points', key)

/** The store of a worktree; undefined if no point was taken there yet. */
export const findStore = (root: string): PointStore | undefined => openStore(storeKey(root))

/** The keys of all stores in the home, complete or not. */
export const listStoreKeys = (): string[] =>
  listIfReadable(join(stintHome(), 'points')).filter((name) => /^[0-9a-f]{12}$/.test(name))

/** All stores in the home. */
export const listStores = (): PointStore[] => listStoreKeys().flatMap((key) => openStore(key) ?? [])

function openStore(key: string, deadline?: number): PointStore | undefined {
  const facts = parseObject(readSmallFile(join(storeDirectory(key), 'store.json')) ?? '')
  if (facts === undefined || !isString(facts.root) || !isString(facts.object_format)) return undefined
  return new PointStore(key, facts as unknown as StoreFacts, deadline)
}

/** A directory of a store for files of the process that has its lock. */
export const tempName = 'temp'

/** How long a writer of a store may be silent before another one takes over, in milliseconds. */
const lockTtlMs = 60_000

/**
 * Runs `act` on the store of a worktree while no other process writes to it; makes the store if needed.
 * Throws `POINTS_OFF` where no points are taken, and `LOCK_HELD` if another writer keeps the store too long.
 */
export async function withStore<Result>(
  root: string,
  { waitMs, deadline }: { waitMs: number; deadline?: number },
  act: (store: PointStore) => Promise<Result>,
): Promise<Result> {
  assertPoints(root)
  const key = storeKey(root)
  return await lockStore(key, { waitMs, deadline }, async (store) => {
    try {
      return await act(store ?? (await createStore(root, key, deadline)))
    } catch (error) {
      throw codedError(error, `use the restore points of ${root}`)
    }
  })
}

/** Runs `act` while no other process writes to the store with this key; it gets none if there is none yet. */
export async function lockStore<Result>(
  key: string,
  { waitMs, deadline }: { waitMs: number; deadline?: number },
  act: (store: PointStore | undefined) => Promise<Result>,
): Promise<Result> {
  const lease = await acquireLease({
    sessionId: newSessionId(),
    resource: `points:${key}`,
    wait: waitMs,
    ttlMs: lockTtlMs,
    purpose: 'restore points',
  })
  try {
    const store = openStore(key, deadline)
    // A process that was killed leaves these, and no other one is there.
    for (const name of ['git/index.lock', tempName])
      ifPossible(() => removeTree(join(storeDirectory(key), name)))
    return await act(store)
  } finally {
    await lease.release()
  }
}

/** Throws `POINTS_OFF` for a directory that has no points. */
export function assertPoints(root: string): void {
  const problem = pointsProblem(root)
  if (problem !== undefined) throw pointsOff(root, problem)
}

const pointsOff = (root: string, reason: string): StintError =>
  new StintError('POINTS_OFF', `there are no restore points for ${root}: ${reason}`)

async function createStore(root: string, key: string, deadline?: number): Promise<PointStore> {
  const repository = await readUserRepository(root, deadline)
  const { files } = repository
  if (files > maxFiles) throw pointsOff(root, `it has ${files} files, and ${maxFiles} are the limit`)
  const facts: StoreFacts = {
    root,
    git_directory: repository.gitDirectory,
    common_directory: repository.commonDirectory,
    object_format: repository.objectFormat,
    trusts_modes: repository.trustsModes,
  }
  const store = new PointStore(key, facts, deadline)
  const home = stintHome()
  ensureHome(home)
  ensureHomeDirectory(join(home, 'points'))
  ensureHomeDirectory(store.directory)
  // What a killed process has left is incomplete: `store.json` is written last.
  removeTree(store.file('git'))
  await withHomeErrors(home, 'make a store of restore points', () => makeGitDirectory(store, repository))
  replaceFile(store.file('store.json'), `${JSON.stringify(store.facts)}\n`)
  return store
}

/** Makes a git directory by hand: `git init` would look at the user's templates and file system. */
async function makeGitDirectory(store: PointStore, repository: UserRepository): Promise<void> {
  const git = store.file('git')
  for (const name of ['info', 'objects/info', 'objects/pack', 'refs/heads', 'refs/trees'])
    mkdirSync(join(git, name), { recursive: true, mode: 0o700 })
  const files = {
    HEAD: 'ref: refs/heads/points\n',
    config: configText(repository),
    // Contents as on disk, whatever the attributes of the user say.
    'info/attributes': `* ${rawAttributes} !merge\n`,
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(git, name), text, { mode: 0o600 })
  // The user's excludes of this repository: git reads them only from its own directory.
  symlinkSync(join(repository.commonDirectory, 'info/exclude'), join(git, 'info/exclude'))
  await seedIndex(store, repository)
}

/** `showUntrackedFiles` makes git use the untracked cache although it lists every file (git 2.37). */
const configText = ({ coreSettings, objectFormat }: UserRepository): string => `[core]
repositoryFormatVersion = 1
bare = false
autocrlf = false
fsmonitor = false
hooksPath = /dev/null
attributesFile = /dev/null
logAllRefUpdates = false
untrackedCache = true
${coreSettings.join('\n')}
[extensions]
objectFormat = ${objectFormat}
[status]
showUntrackedFiles = all
[gc]
auto = 0
[maintenance]
auto = false
`
