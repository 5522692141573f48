import { accessSync, constants, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { errorTable } from '../../base/errors/error-table.ts'
import { listIfReadable, lstatIfExists, statIfExists } from '../../base/fs/exists.ts'
import { mountHolding } from '../../base/fs/mounts.ts'
import { ownDirectoryProblem } from '../../base/fs/own-directory.ts'
import { shellWord, visibleText } from '../../base/text/escape.ts'
import { errorCode } from '../../base/errors/stint-error.ts'
import { geteuid } from '../../base/process/platform.ts'
import { nonDirectoryOn } from '../../base/fs/paths.ts'
import { bad, type Check, fine, poor } from './check.ts'
import { type Role, variableOf } from './directory-role.ts'

/** Who can do what in a directory and to it. */
export interface DirectoryFacts {
  path: string
  /** Undefined if it is not there yet. */
  self?: { problem?: string; mode: number }
  /** Undefined if that is not there either, or is no directory. */
  parent?: { mode: number; uid: number }
  /** Why it cannot be made, where it is not there yet, and that can be told without trying. */
  obstacle?: string
  /** Names in it that others may read or write. */
  open: string[]
}

export function readDirectory(path: string): DirectoryFacts {
  const self = lstatIfExists(path)
  const parent = statIfExists(dirname(path))
  return {
    path,
    self: self && { problem: ownDirectoryProblem(self), mode: self.mode & 0o7777 },
    parent: parent?.isDirectory() ? { mode: parent.mode & 0o7777, uid: parent.uid } : undefined,
    obstacle: self === undefined ? obstacleTo(dirname(path)) : undefined,
    open: self?.isDirectory() ? listIfReadable(path).filter((name) => isOpen(join(path, name))) : [],
  }
}

/** What the kernel shows as files. Nobody can make any there, but root, who asks whether it may, is mostly told that it may. */
const shownByKernel = /^(proc|sysfs|cgroup2?|devpts|securityfs|debugfs|tracefs|configfs|pstore|bpf|mqueue)$/

function obstacleTo(parent: string): string | undefined {
  const file = nonDirectoryOn(parent)
  if (file !== undefined) return `${visibleText(file, 2000)} is not a directory`
  try {
    accessSync(parent, constants.W_OK | constants.X_OK)
    const type = mountHolding(realpathSync(parent))?.type ?? ''
    return shownByKernel.test(type)
      ? `nothing can be made in ${visibleText(parent, 2000)} (${type})`
      : undefined
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    return `nothing can be made in ${visibleText(parent, 2000)} (${errorCode(error)})`
  }
}

const isOpen = (path: string): boolean => {
  const stat = lstatIfExists(path)
  return stat !== undefined && !stat.isSymbolicLink() && (stat.mode & 0o077) !== 0
}

/** Nobody but its user may change what is in it, or put another in its place; nor should anybody read it. */
export function judgeDirectory(role: Role, facts: DirectoryFacts, uid: number = geteuid()): Check {
  const { self, parent, obstacle, open } = facts
  const path = visibleText(facts.path, 2000)
  const above = visibleText(dirname(facts.path), 2000)
  const unsafe = errorTable[role === 'home' ? 'HOME_UNSAFE' : 'TEMP_DIR_UNSAFE'].hint
  if (obstacle !== undefined)
    return bad(
      role,
      `${path} cannot be made: ${obstacle}`,
      `Set ${variableOf[role]} to a directory of yours.`,
    )
  if (parent === undefined)
    return bad(
      role,
      `there is no directory ${above} to make it in`,
      `mkdir -p ${shellWord(above)}, or set ${variableOf[role]}.`,
    )
  if (self?.problem !== undefined) return bad(role, `${path} ${self.problem}`, unsafe)
  if ((parent.mode & 0o002) !== 0 && (parent.mode & 0o1000) === 0)
    return bad(role, `anybody can replace ${path}`, `chmod +t ${shellWord(above)}`)
  if (self === undefined) return fine(role, `${path}, made when it is first needed`)
  const mode = `mode ${(self.mode & 0o777).toString(8)}`
  if ((self.mode & 0o022) !== 0)
    return bad(role, `others can write to ${path} (${mode})`, `chmod 700 ${shellWord(path)}`)
  if ((self.mode & 0o700) !== 0o700)
    return bad(role, `you cannot use ${path} (${mode})`, `chmod 700 ${shellWord(path)}`)
  if ((self.mode & 0o055) !== 0)
    return poor(role, `others can look into ${path} (${mode})`, `chmod 700 ${shellWord(path)}`)
  if (open.length > 0 && role === 'home')
    return poor(
      role,
      `others may read ${visibleText(open.join(', '))} in ${path}`,
      `chmod -R go= ${shellWord(path)}`,
    )
  if (parent.uid !== 0 && parent.uid !== uid)
    return poor(role, `user ${parent.uid} can replace ${path}`, unsafe)
  return fine(role, path)
}
