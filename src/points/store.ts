import { existsSync, mkdirSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ifPossible } from '../base/errors/if-possible.ts'
import { codedError, StintError } from '../base/errors/stint-error.ts'
import { replaceFile } from '../base/fs/atomic-file.ts'
import { listIfReadable } from '../base/fs/exists.ts'
import { ensureHome, ensureHomeDirectory, stintHome, withHomeErrors } from '../base/fs/home.ts'
import { readSmallFile } from '../base/fs/regular-file.ts'
import { removeTree } from '../base/fs/remove-tree.ts'
import { isString, parseObject } from '../base/text/fields.ts'
import { newSessionId } from '../base/text/id.ts'
import { md5 } from '../base/text/md5.ts'
import { acquireLease } from '../lease/index.ts'
import { environmentWithoutGit, gitOutput, lateDetail } from './git.ts'
import { seedIndex } from './seed-index.ts'
import { maxFiles, pointsProblem, readUserFile, readUserRepository } from './user-repository.ts'
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
  readonly directory: string
  readonly facts: StoreFacts
  /** When a git process of this object is stopped, on the clock of `Date.now`. */
  readonly deadline: number | undefined

  constructor(key: string, directory: string, facts: StoreFacts, deadline?: number) {
    this.key = key
    this.directory = directory
    this.facts = facts
    this.deadline = deadline
  }

  get root(): string {
    return this.facts.root
  }

  file(name: string): string {
    return join(this.directory, name)
  }

  /** Runs git on this store with its own config, and returns what it printed. */
  git(
    args: readonly string[],
    { input, env }: { input?: string | Uint8Array; env?: NodeJS.ProcessEnv } = {},
  ): Promise<Buffer> {
    const { deadline } = this
    // A worktree that is gone still has points.
    const cwd = existsSync(this.root) ? this.root : this.directory
    return gitOutput(args, { cwd, env: { ...this.gitEnvironment(), ...env }, input, deadline })
  }

  gitEnvironment(): NodeJS.ProcessEnv {
    return { ...isolatedEnvironment(), GIT_DIR: this.file('git'), GIT_WORK_TREE: this.root }
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
export function findStore(root: string): PointStore | undefined {
  return openStore(storeKey(root))
}

/** All stores in the home. */
export const listStores = (): PointStore[] =>
  listIfReadable(join(stintHome(), 'points')).flatMap((name) =>
    /^[0-9a-f]{12}$/.test(name) ? (openStore(name) ?? []) : [],
  )

function openStore(key: string, deadline?: number): PointStore | undefined {
  const directory = storeDirectory(key)
  const facts = parseObject(readSmallFile(join(directory, 'store.json')) ?? '')
  if (facts === undefined || !isString(facts.root) || !isString(facts.object_format)) return undefined
  return new PointStore(key, directory, facts as unknown as StoreFacts, deadline)
}

/** A cautious estimate, on a cold cache. */
const filesReadPerSecond = 1000

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
  const problem = pointsProblem(root)
  if (problem !== undefined) throw pointsOff(root, problem)
  const key = storeKey(root)
  return await lockStore(key, waitMs, deadline, async (store) => {
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
  waitMs: number,
  deadline: number | undefined,
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
    // A git process that was killed leaves this file, and no other writer is there.
    if (store !== undefined) ifPossible(() => unlinkSync(store.file('git/index.lock')))
    return await act(store)
  } finally {
    await lease.release()
  }
}

export const pointsOff = (root: string, reason: string): StintError =>
  new StintError('POINTS_OFF', `there are no restore points for ${root}: ${reason}`)

async function createStore(root: string, key: string, deadline?: number): Promise<PointStore> {
  const repository = await readUserRepository(root, deadline)
  const { files } = repository
  if (files > maxFiles) throw pointsOff(root, `it has ${files} files, and ${maxFiles} are the limit`)
  // Without a usable index every file has to be read. A call does not wait for that; the sweep does it.
  const secondsLeft = ((deadline ?? Number.POSITIVE_INFINITY) - Date.now()) / 1000
  if (!repository.hasPlainIndex && files > secondsLeft * filesReadPerSecond)
    throw new StintError('POINT_FAILED', `the first point of ${root} has to read ${files} files`, lateDetail)
  const home = stintHome()
  ensureHome(home)
  ensureHomeDirectory(join(home, 'points'))
  const directory = storeDirectory(key)
  ensureHomeDirectory(directory)
  const facts: StoreFacts = {
    root,
    git_directory: repository.gitDirectory,
    common_directory: repository.commonDirectory,
    object_format: repository.objectFormat,
    trusts_modes: repository.fileSettings.filemode !== 'false',
  }
  const store = new PointStore(key, directory, facts, deadline)
  // What a killed process has left is incomplete: `store.json` is written last.
  removeTree(store.file('git'))
  await withHomeErrors(home, 'make a store of restore points', () => makeGitDirectory(store, repository))
  replaceFile(store.file('store.json'), `${JSON.stringify(facts)}\n`)
  return store
}

/** Makes a git directory by hand: `git init` would look at the user's templates and file system. */
async function makeGitDirectory(store: PointStore, repository: UserRepository): Promise<void> {
  const git = store.file('git')
  for (const name of ['info', 'objects/info', 'objects/pack', 'refs/heads', 'refs/trees'])
    mkdirSync(join(git, name), { recursive: true, mode: 0o700 })
  // Contents as on disk, whatever the attributes of the user say. `crlf` is the old name of `text`.
  const raw = '!text !eol !crlf !filter !ident !working-tree-encoding !merge'
  const files = {
    HEAD: 'ref: refs/heads/points\n',
    config: configText(repository),
    'info/attributes': `* ${raw}\n`,
    'objects/info/alternates': `${join(repository.commonDirectory, 'objects')}\n`,
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(git, name), text, { mode: 0o600 })
  await seedIndex(store, repository)
}

function configText({ excludesFile, fileSettings, objectFormat }: UserRepository): string {
  const sections = {
    core: {
      repositoryFormatVersion: objectFormat === 'sha1' ? 0 : 1,
      bare: false,
      autocrlf: false,
      fsmonitor: false,
      hooksPath: '/dev/null',
      attributesFile: '/dev/null',
      logAllRefUpdates: false,
      untrackedCache: true,
      excludesFile: JSON.stringify(excludesFile),
      ...fileSettings,
    },
    extensions: objectFormat === 'sha1' ? {} : { objectFormat },
    // With this setting, git uses the untracked cache although it lists every file (git 2.37).
    status: { showUntrackedFiles: 'all' },
    gc: { auto: 0 },
    maintenance: { auto: false },
  }
  return Object.entries(sections)
    .flatMap(([name, settings]) => [
      `[${name}]`,
      ...Object.entries(settings).map(([setting, value]) => `\t${setting} = ${value}`),
    ])
    .join('\n')
    .concat('\n')
}

/** Copies the user's excludes of this repository, which git reads only from its own directory. */
export function refreshExcludes(store: PointStore): void {
  const wanted = readUserFile(join(store.facts.common_directory, 'info/exclude'))
  const path = store.file('git/info/exclude')
  if (readSmallFile(path) !== wanted) replaceFile(path, wanted)
}
