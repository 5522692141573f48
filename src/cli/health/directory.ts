import { accessSync, constants } from 'node:fs'
import { dirname, join } from 'node:path'
import { errorEntry } from '../../base/errors/error-table.ts'
import { errorCode } from '../../base/errors/stint-error.ts'
import { listIfReadable, lstatIfExists, statIfExists } from '../../base/fs/exists.ts'
import { withHomeErrors } from '../../base/fs/home.ts'
import { ownDirectoryProblem } from '../../base/fs/own-directory.ts'
import { nonDirectoryOn } from '../../base/fs/paths.ts'
import { geteuid } from '../../base/process/platform.ts'
import { shellWord, visibleText } from '../../base/text/escape.ts'
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
