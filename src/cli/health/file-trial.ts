import { linkSync, lstatSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { errorCode, errorMessage } from '../../base/errors/stint-error.ts'
import { nodeDisk } from '../../base/fs/disk.ts'
import { ownDirectoryProblem, createPrivateFile, makePrivateDirectory } from '../../base/fs/private-file.ts'
import { removeTree } from '../../base/fs/remove-tree.ts'
import { ulid } from '../../base/text/id.ts'
import { createScratch } from '../../scratch/index.ts'
import { type Check, fail, ok, warn } from './check.ts'
import { type DirectoryRole, directoryVariable, nearestDirectory } from './directory.ts'

/** An ability that stint needs of a file system. */
type Ability = 'create' | 'modes' | 'rename' | 'link' | 'sync'

/** The problem with each ability; those that work are missing. */
type FileTrial = Partial<Record<Ability, string>>

/** Tries what the home needs, there or where it would be made. */
export function tryHome(home: string): Check {
  const parent = nearestDirectory(home)
  removeAbandonedTrials(parent)
  const directory = join(parent, `${trialPrefix}${ulid()}`)
  makePrivateDirectory(directory)
  try {
    return judgeFiles('home', tryFiles(directory))
  } finally {
    removeTree(directory)
  }
}

/** Tries what the temp directory must be able to do, in a scratch like that of any run. */
export function tryTemp(): Check {
  const scratch = createScratch({ command: 'stint doctor' })
  try {
    return judgeFiles('temp', tryFiles(scratch.dir('trial')))
  } finally {
    scratch.remove()
  }
}

const trialPrefix = '.stint-doctor-'
/** No trial takes this long: an older directory was left by a doctor that was killed. */
const abandonedMs = 60_000

function removeAbandonedTrials(parent: string): void {
  for (const name of readdirSync(parent).filter((each) => each.startsWith(trialPrefix))) {
    const path = join(parent, name)
    const stat = lstatSync(path, { throwIfNoEntry: false })
    if (stat === undefined || ownDirectoryProblem(stat) !== undefined) continue
    if (Date.now() - stat.mtimeMs > abandonedMs) removeTree(path, { inode: stat.ino })
  }
}

/** Tries each ability in an empty directory: the name of a file system says little about what it does. */
function tryFiles(directory: string): FileTrial {
  const at = (name: string): string => join(directory, name)
  const tries: Readonly<Record<Ability, () => string | undefined>> = {
    create() {
      createPrivateFile(at('file'), 'one')
      return takenTwice(() => createPrivateFile(at('file'), 'two')) ?? unlessHolds(at('file'), 'one')
    },
    modes() {
      makePrivateDirectory(at('directory'))
      const [file, inner] = [at('file'), at('directory')].map((path) => lstatSync(path).mode & 0o777)
      if (file === 0o600 && inner === 0o700) return undefined
      return `a private file has mode ${file?.toString(8)}, a private directory ${inner?.toString(8)}`
    },
    rename() {
      createPrivateFile(at('next'), 'next')
      renameSync(at('next'), at('file'))
      mkdirSync(at('directory/full'), { recursive: true })
      renameSync(at('directory'), at('moved'))
      return unlessHolds(at('file'), 'next')
    },
    link() {
      linkSync(at('file'), at('second'))
      const isCounted = statSync(at('file')).nlink === 2
      return (
        takenTwice(() => linkSync(at('file'), at('second'))) ??
        (isCounted ? undefined : 'a second name is not counted')
      )
    },
    sync() {
      for (const path of [at('file'), directory]) nodeDisk.syncDirectory(path)
      return undefined
    },
  }
  const problems = Object.entries(tries).map(([name, attempt]) => [name, problemOf(attempt)] as const)
  return Object.fromEntries(problems.filter(([, problem]) => problem !== undefined))
}

function problemOf(attempt: () => string | undefined): string | undefined {
  try {
    return attempt()
  } catch (error) {
    return errorCode(error) ?? errorMessage(error)
  }
}

/** The problem if a name can be taken twice: of two processes that create one file, exactly one must win. */
function takenTwice(create: () => void): string | undefined {
  try {
    create()
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return undefined
    throw error
  }
  return 'the same name can be taken twice'
}

// Read as bytes: where closing the file fails, Node aborts the process if it reads with an encoding.
const unlessHolds = (path: string, text: string): string | undefined =>
  readFileSync(path).toString() === text ? undefined : 'a file does not read back as it was written'

const meanings: Readonly<Record<Ability, string>> = {
  create: 'files cannot be made there',
  modes: 'files there cannot be made private',
  rename: 'files there cannot be replaced in one step',
  link: 'there are no hard links, which claims and the locks of sessions are made of',
  sync: 'nothing there can be made durable',
}

/** Abilities without which nothing works. Without `modes` it works, but others can read the files. */
const needed: Readonly<Record<DirectoryRole, readonly Ability[]>> = {
  home: ['create', 'rename', 'link', 'sync'],
  temp: ['create', 'rename'],
}

export function judgeFiles(role: DirectoryRole, trial: FileTrial): Check {
  const name = `${role} files`
  const isFull = Object.values(trial).some((problem) => ['ENOSPC', 'EDQUOT'].includes(problem))
  const fix = isFull
    ? 'Free some space there; `stint sweep` removes what dead runs left.'
    : `Set ${directoryVariable[role]} to a directory of yours on a local disk.`
  const describe = (ability: Ability): string => `${meanings[ability]} (${trial[ability]})`
  const missing = needed[role].find((ability) => trial[ability] !== undefined)
  if (missing !== undefined) return fail(name, describe(missing), fix)
  if (trial.modes !== undefined) return warn(name, describe('modes'), fix)
  return ok(name, `${needed[role].join(', ')}, modes: tried, all work`)
}
