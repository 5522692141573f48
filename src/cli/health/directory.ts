import { accessSync, constants, linkSync, lstatSync, renameSync, statfsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { errorEntry } from '../../base/errors/error-table.ts'
import { errorCode, errorMessage } from '../../base/errors/stint-error.ts'
import { nodeDisk } from '../../base/fs/disk.ts'
import { lstatIfExists, statIfExists } from '../../base/fs/exists.ts'
import { withHomeErrors } from '../../base/fs/home.ts'
import { createPrivateFile, makePrivateDirectory, ownDirectoryProblem } from '../../base/fs/private-file.ts'
import { nonDirectoryOn } from '../../base/fs/paths.ts'
import { removeTree } from '../../base/fs/remove-tree.ts'
import { shellWord, visibleText } from '../../base/text/escape.ts'
import { ulid } from '../../base/text/id.ts'
import { formatBytes } from '../../base/text/size.ts'
import { createScratch } from '../../scratch/index.ts'
import { type Check, fail, ok, warn } from './check.ts'

/** One of the two directories that stint keeps things in. */
type DirectoryRole = 'home' | 'temp'

/** The variable that sets the path of each directory. */
const directoryVariable: Readonly<Record<DirectoryRole, string>> = {
  home: 'STINT_HOME',
  temp: 'STINT_TMP_ROOT',
}

/** The permissions of a directory and of the one above it. */
export interface DirectoryFacts {
  path: string
  /** Undefined if the directory does not exist yet. */
  self?: { problem?: string; mode: number }
  /** The mode of its parent; undefined if that does not exist or is not a directory. */
  parentMode?: number
  /** Why a missing directory cannot be made, as far as that is known without trying. */
  obstacle?: string
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
    self: self && { problem: ownDirectoryProblem(self), mode: self.mode & 0o777 },
    parentMode: parent?.isDirectory() ? parent.mode & 0o7777 : undefined,
    obstacle: self === undefined ? obstacleIn(dirname(path)) : undefined,
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

/** Other users must not be able to change or replace the directory, and should not be able to read it. */
export function judgeDirectory(role: DirectoryRole, facts: DirectoryFacts): Check {
  const { self, parentMode, obstacle } = facts
  const path = visibleText(facts.path)
  const above = visibleText(dirname(facts.path))
  const variable = directoryVariable[role]
  const restrict = `chmod 700 ${shellWord(path)}`
  if (obstacle !== undefined)
    return fail(role, `${path} cannot be made: ${obstacle}`, `Set ${variable} to a directory of yours.`)
  if (parentMode === undefined)
    return fail(
      role,
      `there is no directory ${above} to make it in`,
      `mkdir -p ${shellWord(above)}, or set ${variable}.`,
    )
  if (self?.problem !== undefined) {
    const { entry } = errorEntry(role === 'home' ? 'HOME_UNSAFE' : 'TEMP_DIR_UNSAFE')
    return fail(role, `${path} ${self.problem}`, entry.hint)
  }
  if ((parentMode & 0o002) !== 0 && (parentMode & 0o1000) === 0)
    return fail(role, `any user can replace ${path}`, `chmod +t ${shellWord(above)}`)
  if (self === undefined) return ok(role, `${path}, made when it is first needed`)
  const mode = `mode ${self.mode.toString(8)}`
  if ((self.mode & 0o022) !== 0) return fail(role, `other users can write to ${path} (${mode})`, restrict)
  if ((self.mode & 0o700) !== 0o700) return fail(role, `you cannot use ${path} (${mode})`, restrict)
  if ((self.mode & 0o055) !== 0) return warn(role, `other users can list ${path} (${mode})`, restrict)
  return ok(role, path)
}

/** Returns the directory itself, or the nearest existing one above it. */
function nearestDirectory(path: string): string {
  const exists = lstatIfExists(path)?.isDirectory() ?? false
  return exists || dirname(path) === path ? path : nearestDirectory(dirname(path))
}

const onNetwork = (name: string): Omit<Check, 'name'> => ({
  level: 'fail',
  text: `it is on ${name}: over a network, listings may be out of date, and locks rely on them`,
  fix: 'Set STINT_HOME to a directory on a local disk.',
})

const mayBeOnNetwork = (name: string): Omit<Check, 'name'> => ({
  level: 'warn',
  text: `it is on ${name}, which may lead over a network: listings may be out of date, and locks rely on them`,
  fix: 'Set STINT_HOME to a directory on a local disk.',
})

/** The file systems that are no good place for the home, by their numbers in statfs(2) on Linux. */
const unfitFileSystems: Readonly<Record<number, Omit<Check, 'name'>>> = {
  0x6969: onNetwork('NFS'),
  0x517b: onNetwork('SMB'),
  0xfe534d42: onNetwork('SMB'),
  0xff534d42: onNetwork('CIFS'),
  0x00c36400: onNetwork('Ceph'),
  0x5346414f: onNetwork('AFS'),
  0x0bd00bd0: onNetwork('Lustre'),
  0x65735546: mayBeOnNetwork('FUSE'),
  0x01021997: mayBeOnNetwork('9p'),
  0x01021994: {
    level: 'warn',
    text: 'it is in memory (tmpfs): sessions are lost at a restart',
    fix: 'Set STINT_HOME to a directory on a local disk.',
  },
  0x794c7630: {
    level: 'warn',
    text: 'it is in a layer of a container (overlay), and is removed with it',
    fix: 'Set STINT_HOME to a volume.',
  },
}

/** Can a file system of this type hold the home? */
export function judgeFileSystem(type: number): Check {
  const name = 'home mount'
  return { name, ...(unfitFileSystems[type] ?? ok(name, 'on a local disk, as far as the system tells')) }
}

export const checkFileSystem = (home: string): Check =>
  judgeFileSystem(statfsSync(nearestDirectory(home)).type)

/** The space left on a file system for this user, in bytes; some more is reserved for root. */
export interface Space {
  path: string
  free_bytes: number
  /** 0 where the file system reports no size. */
  total_bytes: number
}

/** Reads the space under a path; for a missing path, that of the directory in which it would be made. */
export function readSpace(path: string): Space {
  const { bavail, blocks, bsize } = statfsSync(nearestDirectory(path))
  return { path, free_bytes: bavail * bsize, total_bytes: blocks * bsize }
}

const mebibyte = 1 << 20
const gibibyte = 1 << 30
/** With less than this, a run can hardly start, and a session cannot go on. */
const leastBytes = 16 * mebibyte
const fewBytes = 512 * mebibyte
/** On a disk that is this full, even a few GiB are soon gone. */
const fullShare = 0.95

/** A small file system may be meant to be small, so the space that is left counts first. */
export function judgeSpace(name: string, { free_bytes, total_bytes }: Space): Check {
  if (total_bytes === 0) return ok(name, 'its file system has no size')
  const used = 1 - free_bytes / total_bytes
  const text = `${formatBytes(free_bytes)} free of ${formatBytes(total_bytes)}`
  const fix =
    'Free some space there; `stint sweep` removes what dead runs left, `stint sessions list --sort size` shows what sessions take.'
  if (free_bytes < leastBytes) return fail(name, text, fix)
  const isScarce = free_bytes < fewBytes || (used > fullShare && free_bytes < 4 * gibibyte)
  return isScarce ? warn(name, text, fix) : ok(name, text)
}

/** Tries what the home must be able to do, there or where it would be made. */
export function tryHome(home: string): Check {
  const directory = join(nearestDirectory(home), `.stint-doctor-${ulid()}`)
  try {
    return tryFiles('home', directory)
  } finally {
    removeTree(directory)
  }
}

/** Tries what the temp directory must be able to do, in a scratch like that of any run. */
export function tryTemp(): Check {
  const scratch = createScratch({ command: 'stint doctor' })
  try {
    return tryFiles('temp', join(scratch.path, 'trial'))
  } finally {
    scratch.remove()
  }
}

/** Tries each kind of call in a new directory: the name of a file system says little about what it can do. */
function tryFiles(role: DirectoryRole, directory: string): Check {
  const at = (name: string): string => join(directory, name)
  const trials: [failure: string, attempt: () => void][] = [
    [
      'files cannot be made there',
      () => {
        makePrivateDirectory(directory)
        for (const name of ['file', 'next']) createPrivateFile(at(name), name)
      },
    ],
    ['files there cannot be replaced in one step', () => renameSync(at('next'), at('file'))],
  ]
  if (role === 'home')
    trials.push(
      [
        'there are no hard links, which claims and the locks of sessions are made of',
        () => linkSync(at('file'), at('second')),
      ],
      ['nothing there can be made durable', () => nodeDisk.syncDirectory(directory)],
    )
  const name = `${role} files`
  const fix = `Set ${directoryVariable[role]} to a directory of yours on a local disk with free space.`
  for (const [failure, attempt] of trials)
    try {
      attempt()
    } catch (error) {
      return fail(name, `${failure} (${errorCode(error) ?? errorMessage(error)})`, fix)
    }
  const isPrivate = [at('file'), directory].every((path) => (lstatSync(path).mode & 0o077) === 0)
  return isPrivate
    ? ok(name, 'made, replaced and linked files: all works')
    : warn(name, 'files there cannot be made private', fix)
}
