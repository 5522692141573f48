import { realpathSync, statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { lstatIfExists } from '../../base/fs/exists.ts'
import { type Mount, mountHolding } from '../../base/fs/mounts.ts'
import { visibleText } from '../../base/text/escape.ts'
import { formatBytes } from '../../base/text/size.ts'
import { type Check, fail, ok, warn } from './check.ts'
import { type DirectoryRole, directoryVariable } from './directory.ts'

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
