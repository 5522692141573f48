import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { ifPossible } from '../base/errors/if-possible.ts'
import { StintError } from '../base/errors/stint-error.ts'
import { isWithin } from '../base/fs/paths.ts'
import { readSmallFile } from '../base/fs/regular-file.ts'
import { environmentWithoutGit, gitOutput, runGit, splitNul } from './git.ts'

/** The user's repository, as far as a store of points has to know it. */
export interface UserRepository {
  root: string
  gitDirectory: string
  commonDirectory: string
  objectFormat: string
  /** The file of global excludes; it need not exist. */
  excludesFile: string
  /** Lines of git's config that say how files of this worktree are to be read. */
  fileSettings: Record<string, string>
  /** How many files the index has: bytes 8 to 11 of an index are that number. */
  files: number
  /** Whether a copy of the index shows what is on disk: no filter or conversion, no split index. */
  hasPlainIndex: boolean
}

/** Points were tested with this version of git and later ones. */
const oldestGit = [2, 39] as const

/** No points are taken in a tree with more files than this. */
export const maxFiles = 200_000

const fileSettingNames = ['filemode', 'ignorecase', 'symlinks', 'precomposeunicode']

/** Is this the top of a git worktree? */
export const isGitTop = (root: string): boolean => existsSync(join(root, '.git'))

/** Why no points can be taken in this directory; undefined if they can. Starts no process. */
export function pointsProblem(root: string): string | undefined {
  if (!isGitTop(root)) return 'it is not a git repository'
  return isWithin(userHome(), root) ? 'it contains the home directory' : undefined
}

/** Asks git about a worktree. */
export async function readUserRepository(root: string, deadline?: number): Promise<UserRepository> {
  const ask = (...args: string[]): Promise<Buffer> =>
    gitOutput(['-C', root, ...args], { env: environmentWithoutGit(), deadline })
  const [version, places, config, attributeFiles] = await Promise.all([
    ask('version'),
    ask(...'rev-parse --path-format=absolute --git-dir --git-common-dir --show-object-format'.split(' ')),
    ask('config', '--list', '-z'),
    // An index that git cannot read is no reason to give up here.
    ask('ls-files', '-z', '--', ':(glob)**/.gitattributes').catch(() => undefined),
  ])
  assertVersion(version.toString())
  const [gitDirectory = '', commonDirectory = '', objectFormat = 'sha1'] = places.toString().split('\n')
  const settings = parseConfig(config)
  const setFile = (name: string, usual: string): string =>
    expandHome(root, settings.get(name) ?? join(configHome(), 'git', usual))
  const attributes = [
    join(root, '.gitattributes'),
    ...splitNul(attributeFiles ?? Buffer.alloc(0)).map((path) =>
      join(root, Buffer.from(path, 'latin1').toString()),
    ),
    join(commonDirectory, 'info/attributes'),
    setFile('core.attributesfile', 'attributes'),
    '/etc/gitattributes',
  ]
  const index = ifPossible(() => readFileSync(join(gitDirectory, 'index')))
  return {
    root,
    gitDirectory,
    commonDirectory,
    objectFormat,
    excludesFile: setFile('core.excludesfile', 'ignore'),
    fileSettings: Object.fromEntries(
      fileSettingNames.flatMap((name) => {
        const value = settings.get(`core.${name}`)
        return value === undefined ? [] : [[name, value]]
      }),
    ),
    files: index === undefined || index.length < 12 ? 0 : index.readUInt32BE(8),
    hasPlainIndex:
      attributeFiles !== undefined &&
      isPlain(index, settings) &&
      !attributes.some((path) => converting.test(readUserFile(path))),
  }
}

/** Attributes that make git store other bytes than the file has on disk. `binary` is one with `-text`. */
const converting = /\b(?:text|eol|crlf|filter|ident|working-tree-encoding)\b/

/** Neither converted nor sparse nor split: the extension of a split index names the file with the rest. */
function isPlain(index: Buffer | undefined, settings: ReadonlyMap<string, string>): boolean {
  const isOff = (name: string): boolean => ['', 'false', 'no', 'off', '0'].includes(settings.get(name) ?? '')
  return (
    index !== undefined && !index.includes('link\0\0\0') && isOff('core.autocrlf') && isOff('index.sparse')
  )
}

/** The text of a file of the user's, also behind a link; empty without one. */
export const readUserFile = (path: string): string => ifPossible(() => readFileSync(path, 'utf8')) ?? ''

function assertVersion(text: string): void {
  const [major = 0, minor = 0] = (/\d+\.\d+/.exec(text)?.[0] ?? '').split('.').map(Number)
  if (major > oldestGit[0] || (major === oldestGit[0] && minor >= oldestGit[1])) return
  const message = `restore points need git ${oldestGit.join('.')} or newer, and this is ${text.trim()}`
  throw new StintError('POINTS_OFF', message, { hint: 'Install a newer git.' })
}

/** The last value of each setting, as git decides. A setting without a value is `true`. */
function parseConfig(output: Buffer): Map<string, string> {
  const entries = output.toString().split('\0').slice(0, -1)
  return new Map(
    entries.map((entry) => {
      const end = entry.indexOf('\n')
      return end < 0 ? [entry, 'true'] : [entry.slice(0, end), entry.slice(end + 1)]
    }),
  )
}

const userHome = (): string => ifPossible(homedir) ?? '/'
const configHome = (): string => process.env.XDG_CONFIG_HOME || join(userHome(), '.config')

const expandHome = (root: string, path: string): string =>
  path.startsWith('~/') ? join(userHome(), path.slice(2)) : resolve(root, path)

/** The paths that the user's index has, without submodules, in Latin-1; of `among`, or all. */
export async function trackedPaths(
  root: string,
  among: readonly string[] = [],
  deadline?: number,
): Promise<string[]> {
  const env = { ...environmentWithoutGit(), GIT_LITERAL_PATHSPECS: '1', GIT_OPTIONAL_LOCKS: '0' }
  const wanted = among.map((path) => Buffer.from(path, 'latin1').toString())
  const listing = await gitOutput(['-C', root, 'ls-files', '-s', '-z', '--', ...wanted], { env, deadline })
  return splitNul(listing).flatMap((line) =>
    line.startsWith('160000 ') ? [] : [line.slice(line.indexOf('\t') + 1)],
  )
}

/** The commit of the user's HEAD; null without one. Starts git only if its files do not say. */
export async function readUserHead(
  root: string,
  { git_directory, common_directory }: { git_directory: string; common_directory: string },
  deadline?: number,
): Promise<string | null> {
  const head = readSmallFile(join(git_directory, 'HEAD')) ?? ''
  const [, branch] = /^ref: (refs\/heads\/\S+)\n$/.exec(head) ?? []
  const commit = branch === undefined ? head : readSmallFile(join(common_directory, branch))
  const packed = commit === undefined ? (readSmallFile(join(common_directory, 'packed-refs')) ?? '') : ''
  const line = commit ?? packed.split('\n').find((each) => each.endsWith(` ${branch}`)) ?? ''
  const [id] = /^[0-9a-f]{40,64}(?=\s)/.exec(line) ?? []
  if (id !== undefined) return id
  const args = ['-C', root, 'rev-parse', '--verify', '-q', 'HEAD']
  const { code, stdout } = await runGit(args, { env: environmentWithoutGit(), deadline })
  return code === 0 ? stdout.toString().trim() : null
}

/** The paths among these whose staged version differs from HEAD's, for people to read. */
export async function stagedPaths(root: string, paths: readonly string[]): Promise<string[]> {
  const env = { ...environmentWithoutGit(), GIT_LITERAL_PATHSPECS: '1', GIT_OPTIONAL_LOCKS: '0' }
  const args = ['-C', root, 'diff', '--cached', '--name-only', '-z', '--no-renames', '--no-ext-diff']
  const { code, stdout } = await runGit(args, { env })
  const chosen = new Set(paths)
  return code === 0 ? splitNul(stdout).filter((path) => chosen.has(path)) : []
}
