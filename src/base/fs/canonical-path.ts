import {
  type BigIntStats,
  existsSync,
  lstatSync,
  opendirSync,
  readdirSync,
  readlinkSync,
  realpathSync,
} from 'node:fs'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { ifPossible } from '../errors/if-possible.ts'
import { errorCode } from '../errors/stint-error.ts'
import { escapeMountPath, readMountinfo, unescapeMountPath } from './mounts.ts'
import { isWithin } from './paths.ts'

// One directory can have several real paths: its file system may ignore case, or be mounted in two places.
// All of them must lead to one claim.

/** The canonical paths that this process has found, by real path, each with the identity of its directory. */
const knownDirectories = new Map<string, { canonical: string; identity?: string }>()

/**
 * The one path, among all the real paths of a directory, that names it in claims. A process finds it once:
 * reading the mounts takes as long as acquiring a lease, and a claim must not change its name meanwhile.
 */
export function canonicalDirectory(path: string): string {
  const cached = knownDirectories.get(path)
  if (cached !== undefined) {
    // The identity is read at the second look: a hook looks once, and would have Node compile a stat for it.
    const { dev, ino } = statOf(path) ?? {}
    const identity = `${dev} ${ino}`
    cached.identity ??= identity
    if (cached.identity === identity) return cached.canonical
  }
  const canonical = inFirstMount(spelledOnDisk(path))
  knownDirectories.set(path, { canonical })
  return canonical
}

/** The path with its names as they are on disk, where another case of a name leads to the same directory. */
function spelledOnDisk(path: string): string {
  const parent = dirname(path)
  if (parent === path) return path
  const [above, name] = [spelledOnDisk(parent), basename(path)]
  const spelled = childOf(above, name)
  const otherSpelling = childOf(above, otherCase(name))
  if (!existsSync(otherSpelling) || !isSameFile(spelled, otherSpelling)) return spelled
  const folded = name.toLowerCase()
  const names = (ifPossible(() => readdirSync(above)) ?? []).filter((entry) => entry.toLowerCase() === folded)
  return childOf(above, names.sort()[0] ?? name)
}

/** Joins a real path and a name, which needs no `join` to be normalised. */
const childOf = (directory: string, name: string): string =>
  directory.endsWith(sep) ? `${directory}${name}` : `${directory}${sep}${name}`

/**
 * The path of a directory in the mount that shows most of its file system, or the shortest of several such
 * paths. A bind mount shows a part, and its directories also have a path outside of it.
 */
function inFirstMount(path: string): string {
  const table = readMountinfo()
  if (isMountedOnce(table, path)) return path
  const mounts = parseMounts(table)
  const mount = mounts
    .filter(({ point }) => isWithin(path, point))
    .sort((a, b) => b.point.length - a.point.length)[0]
  if (mount === undefined) return path
  const onDevice = join(mount.root, relative(mount.point, path))
  return (
    mounts
      .filter(({ device, root }) => device === mount.device && isWithin(onDevice, root))
      .map(({ point, root }) => ({ root, path: join(point, relative(root, onDevice)) }))
      .sort(
        (a, b) =>
          a.root.length - b.root.length || a.path.length - b.path.length || (a.path < b.path ? -1 : 1),
      )
      .find((other) => other.path === path || isSameFile(other.path, path))?.path ?? path
  )
}

interface Mount {
  /** Major and minor number of the file system. */
  device: string
  /** The directory of the file system that is mounted. */
  root: string
  /** Where it is mounted. */
  point: string
}

/** Tells the usual case without parsing the table: no other mount shows the file system of a path. */
function isMountedOnce(table: string, path: string): boolean {
  for (let at = escapeMountPath(path); ; at = at.slice(0, at.lastIndexOf('/'))) {
    const point = at || '/'
    // The options of a mount, `rw` or `ro` first, follow its mount point.
    const index = table.lastIndexOf(` ${point} r`)
    if (index < 0 && at !== '') continue
    const [, , device, , found] = table.slice(table.lastIndexOf('\n', index) + 1).split(' ', 5)
    return found === point && table.split(` ${device} `).length === 2
  }
}

/** The mounts, the last mounted first. */
const parseMounts = (table: string): Mount[] =>
  table
    .trim()
    .split('\n')
    .toReversed()
    .map((line) => {
      const [, , device = '', root = '', point = ''] = line.split(' ').map(unescapeMountPath)
      return { device, root, point }
    })

/**
 * The real path of a file that may not exist yet: that of its deepest ancestor that exists, with the rest
 * appended. A link whose target is missing stands for its target, which is what a write through it creates.
 */
export function realPathOf(path: string): string {
  try {
    return realpathSync.native(path)
  } catch (error) {
    const parent = dirname(path)
    const errno = errorCode(error)
    if (parent === path || (errno !== 'ENOENT' && errno !== 'ENOTDIR')) return path
    const above = realPathOf(parent)
    const target = errno === 'ENOENT' ? ifPossible(() => readlinkSync(path)) : undefined
    return target === undefined ? join(above, basename(path)) : realPathOf(resolve(above, target))
  }
}

/**
 * The names that lead from a workspace to a path; undefined if the path is outside. The workspace may be
 * anywhere above the path under another name, so directories are compared by device and inode.
 */
export function namesBelow(workspace: string, path: string): string[] | undefined {
  const names: string[] = []
  for (let at = path; ; at = dirname(at)) {
    if (at === workspace || (!isWithin(path, workspace) && isSameFile(at, workspace))) return names
    if (at === dirname(at)) return undefined
    names.unshift(basename(at))
  }
}

/** The names with those in lower case whose directory does not tell cases apart. */
export function foldNames(workspace: string, names: readonly string[]): string[] {
  let at = workspace
  let folds = ignoresCase(dirname(workspace), basename(workspace)) ?? false
  return names.map((name) => {
    folds = ignoresCase(at, name) ?? folds
    at = join(at, name)
    return folds ? name.toLowerCase() : name
  })
}

/** How many names of a directory are tried to find out whether it ignores case. */
const triedNames = 8

/**
 * Asks the directory itself whether it ignores case: by this name if it is there and has letters, else by
 * others. Undefined if there is no name to ask by: an empty directory is taken to be like the one above it.
 */
function ignoresCase(directory: string, name: string): boolean | undefined {
  const canAsk = (candidate: string): boolean =>
    otherCase(candidate) !== candidate && statOf(join(directory, candidate)) !== undefined
  const probe = canAsk(name) ? name : firstNames(directory).find(canAsk)
  if (probe === undefined) return undefined
  return isSameFile(join(directory, probe), join(directory, otherCase(probe)))
}

/** The name with its letters in the other case; the name itself if it has none. */
const otherCase = (name: string): string => {
  const lower = name.toLowerCase()
  return name === lower ? name.toUpperCase() : lower
}

/** Whether two paths are one file. Without links: a link with the other case is another file. */
function isSameFile(path: string, otherPath: string): boolean {
  if (path === otherPath) return false
  const second = statOf(otherPath)
  const first = second && statOf(path)
  return first !== undefined && first.ino === second?.ino && first.dev === second.dev
}

const statOf = (path: string): BigIntStats | undefined =>
  ifPossible(() => lstatSync(path, { bigint: true, throwIfNoEntry: false }))

/** A few names of a directory; none if it does not exist yet, or cannot be read. */
function firstNames(directory: string): string[] {
  const handle = ifPossible(() => opendirSync(directory))
  const names = Array.from({ length: triedNames }, () => ifPossible(() => handle?.readSync()?.name))
  handle?.closeSync()
  return names.filter((name) => name !== undefined)
}
