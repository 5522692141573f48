import { accessSync, constants, realpathSync, statfsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { errorEntry } from '../../base/errors/error-table.ts'
import { errorCode } from '../../base/errors/stint-error.ts'
import { listIfReadable, lstatIfExists, statIfExists } from '../../base/fs/exists.ts'
import { withHomeErrors } from '../../base/fs/home.ts'
import { type Mount, mountHolding } from '../../base/fs/mounts.ts'
import { ownDirectoryProblem } from '../../base/fs/private-file.ts'
import { nonDirectoryOn } from '../../base/fs/paths.ts'
import { geteuid } from '../../base/process/platform.ts'
import { shellWord, visibleText } from '../../base/text/escape.ts'
import { formatBytes } from '../../base/text/size.ts'
import { type Check, fail, ok, warn } from './check.ts'

/** One of the two directories that stint keeps things in. */
export type DirectoryRole = 'home' | 'temp'

/** The variable that sets the path of each directory. */
export const directoryVariable: Readonly<Record<DirectoryRole, string>> = {
  home: 'STINT_HOME',
  temp: 'STINT_TMP_ROOT',
}

/** The permissions of a directory and of the one above it. */
export interface DirectoryFacts {
  path: string
  /** Undefined if the directory does not exist yet. */
  self?: { problem?: string; mode: number }
  /** Undefined if the parent does not exist or is not a directory. */
  parent?: { mode: number; uid: number }
  /** Why a missing directory cannot be made, as far as that is known without trying. */
  obstacle?: string
  /** Names of entries that other users may read or write. */
  open: string[]
}

/** Checks whether a directory can be used, or made where it does not exist yet, and by this user only. */
export const checkDirectory = (role: DirectoryRole, path: string): Check =>
  role === 'home'
    ? withHomeErrors(path, 'look at the home', () => judgeDirectory(role, readDirectory(path)))
    : judgeDirectory(role, readDirectory(path))

function readDirectory(path: string): DirectoryFacts {
  const self = lstatIfExists(path)
  const parent = statIfExists(dirname(path))
  return {
    path,
    self: self && { problem: ownDirectoryProblem(self), mode: self.mode & 0o7777 },
    parent: parent?.isDirectory() ? { mode: parent.mode & 0o7777, uid: parent.uid } : undefined,
    obstacle: self === undefined ? obstacleIn(dirname(path)) : undefined,
    open: self?.isDirectory() ? listIfReadable(path).filter((name) => isOpen(join(path, name))) : [],
  }
}

function obstacleIn(parent: string): string | undefined {
  const file = nonDirectoryOn(parent)
  if (file !== undefined) return `${visibleText(file)} is not a directory`
  try {
    accessSync(parent, constants.W_OK | constants.X_OK)
    return undefined
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    return `nothing can be made in ${visibleText(parent)} (${errorCode(error)})`
  }
}

const isOpen = (path: string): boolean => {
  const stat = lstatIfExists(path)
  return stat !== undefined && !stat.isSymbolicLink() && (stat.mode & 0o077) !== 0
}

/** Other users must not be able to change or replace the directory, and should not be able to read it. */
export function judgeDirectory(role: DirectoryRole, facts: DirectoryFacts, uid: number = geteuid()): Check {
  const { self, parent, obstacle, open } = facts
  const path = visibleText(facts.path)
  const above = visibleText(dirname(facts.path))
  const variable = directoryVariable[role]
  const unsafe = errorEntry(role === 'home' ? 'HOME_UNSAFE' : 'TEMP_DIR_UNSAFE').entry.hint
  const restrict = `chmod 700 ${shellWord(path)}`
  if (obstacle !== undefined)
    return fail(role, `${path} cannot be made: ${obstacle}`, `Set ${variable} to a directory of yours.`)
  if (parent === undefined)
    return fail(
      role,
      `there is no directory ${above} to make it in`,
      `mkdir -p ${shellWord(above)}, or set ${variable}.`,
    )
  if (self?.problem !== undefined) return fail(role, `${path} ${self.problem}`, unsafe)
  if ((parent.mode & 0o002) !== 0 && (parent.mode & 0o1000) === 0)
    return fail(role, `any user can replace ${path}`, `chmod +t ${shellWord(above)}`)
  if (self === undefined) return ok(role, `${path}, made when it is first needed`)
  const mode = `mode ${(self.mode & 0o777).toString(8)}`
  if ((self.mode & 0o022) !== 0) return fail(role, `other users can write to ${path} (${mode})`, restrict)
  if ((self.mode & 0o700) !== 0o700) return fail(role, `you cannot use ${path} (${mode})`, restrict)
  if ((self.mode & 0o055) !== 0) return warn(role, `other users can list ${path} (${mode})`, restrict)
  if (open.length > 0 && role === 'home')
    return warn(
      role,
      `other users can read ${visibleText(open.join(', '))} in ${path}`,
      `chmod -R go= ${shellWord(path)}`,
    )
  if (parent.uid !== 0 && parent.uid !== uid)
    return warn(role, `user ${parent.uid} can replace ${path}`, unsafe)
  return ok(role, path)
}

/** Returns the directory itself, or the nearest existing one above it. */
export function nearestDirectory(path: string): string {
  const exists = lstatIfExists(path)?.isDirectory() ?? false
  return exists || dirname(path) === path ? path : nearestDirectory(dirname(path))
}

/** File systems that several machines can mount, each with its own cached view of a directory. */
const network =
  /^(nfs\d?|cifs|smb\d|smbfs|afs|ceph|lustre|gpfs|beegfs|glusterfs|fuse\.(sshfs|glusterfs|ceph.*|s3fs|gcsfuse|rclone))$/
/** File systems through which a virtual machine sees directories of its host. */
const sharedByHost = /^(9p|virtiofs|vboxsf|drvfs|prl_fs|fuse\.vmhgfs-fuse)$/
const memory = /^(tmpfs|ramfs)$/

/** Checks the kind of file system under a directory, and how it is mounted. */
export const checkMount = (role: DirectoryRole, path: string): Check =>
  judgeMount(role, mountHolding(realpathSync(nearestDirectory(path))))

/** Can a file system of this kind hold what stint keeps there? */
export function judgeMount(role: DirectoryRole, mount: Mount | undefined): Check {
  const name = `${role} mount`
  if (mount === undefined) return ok(name, 'this system does not say what kind it is')
  const { type, options } = mount
  const what = `${type} at ${visibleText(mount.point)}`
  const elsewhere = `Set ${directoryVariable[role]} to a directory on a local disk.`
  if (options.includes('ro')) return fail(name, `${what} is read-only`, `Mount it writable, or: ${elsewhere}`)
  if (network.test(type))
    return role === 'home'
      ? fail(name, `${what}: over a network, listings may be out of date, and locks rely on them`, elsewhere)
      : warn(name, `${what}: every file of a run goes over the network`, elsewhere)
  if (sharedByHost.test(type))
    return warn(
      name,
      `${what} is shared from another machine: slow, and not everything works as on a disk`,
      elsewhere,
    )
  if (role === 'home' && memory.test(type))
    return warn(name, `${what} is in memory: sessions are lost at a restart`, elsewhere)
  if (role === 'home' && type === 'overlay')
    return warn(
      name,
      `${what} is removed with its container, and the sessions with it`,
      'Set STINT_HOME to a volume.',
    )
  if (role === 'temp' && options.includes('noexec'))
    return warn(name, `${what} is noexec: programs that unpack others there cannot start them`, elsewhere)
  return ok(name, what)
}

/** The space left on a file system for this user; some is reserved for root. */
export interface Space {
  path: string
  free_bytes: number
  total_bytes: number
  /** How many more files can be made; both 0 where the file system sets no limit. */
  free_files: number
  total_files: number
}

/** Reads the space under a path; for a missing path, that of the directory in which it would be made. */
export function readSpace(path: string): Space {
  const { bavail, blocks, bsize, ffree, files } = statfsSync(nearestDirectory(path))
  return {
    path,
    free_bytes: bavail * bsize,
    total_bytes: blocks * bsize,
    free_files: ffree,
    total_files: files,
  }
}

const mebibyte = 1 << 20
const gibibyte = 1 << 30
/** With less than this, a run can hardly start, and a session cannot go on. */
const leastBytes = 16 * mebibyte
const leastFiles = 100
const fewBytes = 512 * mebibyte
const fewFiles = 10_000
/** On a disk that is this full, even a few GiB are soon gone. */
const fullShare = 0.95

/** A small file system may be meant to be small, so the space that is left counts first. */
export function judgeSpace(name: string, space: Space): Check {
  const { free_bytes: bytes, total_bytes, free_files: files, total_files } = space
  // Some file systems report no size at all: that does not make them full.
  if (total_bytes === 0) return ok(name, 'its file system has no size')
  const used = 1 - bytes / total_bytes
  const isLimited = total_files > 0
  const text = `${formatBytes(bytes)} free of ${formatBytes(total_bytes)}${
    isLimited && files < fewFiles ? `, room for ${files} files` : ''
  }`
  const fix =
    'Free some space there; `stint sweep` removes what dead runs left, `stint sessions list --sort size` shows what sessions take.'
  if (bytes < leastBytes || (isLimited && files < leastFiles)) return fail(name, text, fix)
  const isScarce = bytes < fewBytes || (used > fullShare && bytes < 4 * gibibyte)
  return isScarce || (isLimited && files < fewFiles) ? warn(name, text, fix) : ok(name, text)
}
