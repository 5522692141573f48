import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { ifPossible } from '../base/errors/if-possible.ts'
import { StintError } from '../base/errors/stint-error.ts'
import { isWithin } from '../base/fs/paths.ts'
import { readSmallFile } from '../base/fs/regular-file.ts'
import { environmentWithoutGit, gitOutput, runGit, splitNul } from './git.ts'
import type { PointStore } from './store.ts'
import type { FileChange } from './undo-plan.ts'

/** The user's repository, as far as a store of points has to know it. */
export interface UserRepository {
  root: string
  gitDirectory: string
  commonDirectory: string
  objectFormat: string
  trustsModes: boolean
  /** Lines of the `[core]` section that say how files of this worktree are to be read. */
  coreSettings: string[]
  /** How many files the index has. */
  files: number
  /** The tracked files whose index entry may not show what is on disk, in Latin-1; undefined for all. */
  converted: ReadonlySet<string> | undefined
}

/** Points were tested with this version of git and later ones. */
const oldestGit = [2, 39] as const

/** No points are taken in a tree with more files than this. */
export const maxFiles = 200_000

/** Unsets all attributes that make git store other bytes than are on disk. `crlf` is an old `text`. */
export const rawAttributes = '!text !eol !crlf !filter !ident !working-tree-encoding'

/** Is this the top of a git worktree? */
export const isGitTop = (root: string): boolean => existsSync(join(root, '.git'))

/** Why no points can be taken in this directory; undefined if they can. Starts no process. */
export function pointsProblem(root: string): string | undefined {
  if (!isGitTop(root)) return 'it is not a git repository'
  return isWithin(ifPossible(homedir) ?? '/', root) ? 'it contains the home directory' : undefined
}

/** Asks git about a worktree. */
export async function readUserRepository(root: string, deadline?: number): Promise<UserRepository> {
  const ask = (command: string, ...args: string[]): Promise<Buffer> =>
    gitOutput([...command.split(' '), ...args], { cwd: root, deadline })
  const [version, places, config, excludes, converted] = await Promise.all([
    ask('version'),
    ask('rev-parse --path-format=absolute --git-dir --git-common-dir --show-object-format'),
    ask('config --list -z'),
    ask('config --type=path --default= --get core.excludesFile'),
    // An index that git cannot read is no reason to give up here.
    ask('ls-files -z -- .', `:(exclude,attr:${rawAttributes})`).catch(() => undefined),
  ])
  assertVersion(version.toString())
  const [gitDirectory = '', commonDirectory = '', objectFormat = 'sha1'] = places.toString().split('\n')
  const settings = parseConfig(config)
  const excludesFile = excludes.toString().trim()
  const copied = ['filemode', 'ignorecase', 'symlinks', 'precomposeunicode'].flatMap((name) => {
    const value = settings.get(`core.${name}`)
    return value === undefined ? [] : [`${name} = ${value}`]
  })
  const isConverting = !/^(?:false|no|off|0|)$/.test(settings.get('core.autocrlf') ?? '')
  const index = ifPossible(() => readFileSync(join(gitDirectory, 'index'))) ?? Buffer.alloc(0)
  return {
    root,
    gitDirectory,
    commonDirectory,
    objectFormat,
    trustsModes: settings.get('core.filemode') !== 'false',
    coreSettings: [
      ...copied,
      ...(excludesFile === '' ? [] : [`excludesFile = ${JSON.stringify(resolve(root, excludesFile))}`]),
    ],
    // gitformat-index(5): bytes 8 to 11 are the number of entries.
    files: index.length < 12 ? 0 : index.readUInt32BE(8),
    converted: isConverting || converted === undefined ? undefined : new Set(splitNul(converted)),
  }
}

function assertVersion(text: string): void {
  const [major = 0, minor = 0] = (/\d+\.\d+/.exec(text)?.[0] ?? '').split('.').map(Number)
  if (major > oldestGit[0] || (major === oldestGit[0] && minor >= oldestGit[1])) return
  const message = `restore points need git ${oldestGit.join('.')} or newer, and this is ${text.trim()}`
  throw new StintError('POINTS_OFF', message, { hint: 'Install a newer git.' })
}

/** The last value of each setting, as git decides. A setting without a value is `true`. */
const parseConfig = (output: Buffer): Map<string, string> =>
  new Map(
    output
      .toString()
      .split('\0')
      .map((entry) => {
        const [name = '', value = 'true'] = entry.split('\n')
        return [name, value]
      }),
  )

/** Reads the user's index without touching it. Names are not patterns. */
export const readingEnvironment = (): NodeJS.ProcessEnv => ({
  ...environmentWithoutGit(),
  GIT_LITERAL_PATHSPECS: '1',
  GIT_OPTIONAL_LOCKS: '0',
})

/** Those of these paths that the user's index has, in Latin-1. */
export async function trackedPaths(
  root: string,
  among: readonly string[],
  deadline?: number,
): Promise<string[]> {
  const wanted = among.map((path) => Buffer.from(path, 'latin1').toString())
  const options = { cwd: root, env: readingEnvironment(), deadline }
  return splitNul(await gitOutput(['ls-files', '-z', '--', ...wanted], options))
}

/** The commit of the user's HEAD; null without one. Starts git only if the ref has no file of its own. */
export async function readUserHead({ facts, deadline }: PointStore): Promise<string | null> {
  const head = readSmallFile(join(facts.git_directory, 'HEAD')) ?? ''
  const [, branch] = /^ref: (refs\/heads\/\S+)\n$/.exec(head) ?? []
  const commit = branch === undefined ? head : (readSmallFile(join(facts.common_directory, branch)) ?? '')
  if (/^[0-9a-f]{40,64}\n$/.test(commit)) return commit.trim()
  const { code, stdout } = await runGit(['rev-parse', '-q', '--verify', 'HEAD'], {
    cwd: facts.root,
    deadline,
  })
  return code === 0 ? stdout.toString().trim() : null
}

/** The paths that were changed on disk, and whose staged contents are neither the written ones nor HEAD's. */
export async function stagedPaths(root: string, changes: readonly FileChange[]): Promise<string[]> {
  const args = ['diff', '--cached', '--raw', '-z', '--no-renames', '--no-abbrev', '--no-ext-diff']
  const output = await gitOutput(args, { cwd: root, env: readingEnvironment() })
  const written = new Map(changes.map(({ path, to }) => [path, to?.oid ?? '']))
  // `:100644 100644 <HEAD's id> <staged id> M`, then the path. The id of a deleted file is zeros.
  const tokens = splitNul(output)
  return tokens.filter((path, at) => {
    const stagedId = tokens[at - 1]?.split(' ')[3]?.replace(/^0+$/, '')
    return at % 2 === 1 && written.has(path) && written.get(path) !== stagedId
  })
}
