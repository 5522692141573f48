import {
  closeSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmdirSync,
  type Stats,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { renameInto } from '../../base/fs/atomic-file.ts'
import { ifExists } from '../../base/fs/exists.ts'
import { isWithin } from '../../base/fs/paths.ts'
import { codedError, errorCode, StintError } from '../../base/errors/stint-error.ts'

/** Far more than anybody's settings have. */
const maxBytes = 16 << 20

/** A file that belongs to somebody else's program: what it is now, and where it really is. */
export interface SettingsFile {
  /** As the program names it. */
  path: string
  /** Where links lead: people keep their settings elsewhere and link to them. */
  real: string
  /** Undefined if there is none. */
  bytes: Buffer | undefined
  stat: Stats | undefined
}

export function readSettings(path: string): SettingsFile {
  try {
    const real = realPlace(path)
    const stat = statSync(real, { throwIfNoEntry: false })
    if (stat === undefined) return { path, real, bytes: undefined, stat }
    if (!stat.isFile()) throw new StintError('SETTINGS_INVALID', `${path} is not a file`)
    if (stat.size > maxBytes) throw new StintError('SETTINGS_INVALID', `${path} has ${stat.size} bytes`)
    return { path, real, bytes: readFileSync(real), stat }
  } catch (error) {
    if (errorCode(error) === 'ENOTDIR' || errorCode(error) === 'ELOOP')
      throw new StintError('SETTINGS_INVALID', `${path} cannot be a file: ${errorCode(error)}`, {
        cause: error,
      })
    throw codedError(error, `read ${path}`, 'Change its permissions, or install for another place.')
  }
}

/** A link to what is not there yet is followed, too: the place must have the same name before and after the file is made. */
function realPlace(path: string): string {
  try {
    return realpathSync.native(path)
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error
    const directory = dirname(path) === path ? path : realPlace(dirname(path))
    let target: string
    try {
      target = readlinkSync(path)
    } catch {
      return join(directory, basename(path))
    }
    return realPlace(resolve(directory, target))
  }
}

/** Has nobody changed it since it was read? */
export function isUnchanged(file: SettingsFile): boolean {
  const now = readSettings(file.path)
  return now.real === file.real && (now.bytes?.equals(file.bytes ?? none) ?? file.bytes === undefined)
}

const none = Buffer.from('\0')

/** Whoever takes the right to write away from everyone, themselves too, means it: a rename would not even ask. */
export function checkWritable({ path, stat }: SettingsFile): void {
  if (stat === undefined || (stat.mode & 0o222) !== 0) return
  throw new StintError('PERMISSION_DENIED', `${path} is read-only`, {
    hint: `Allow writing (\`chmod u+w\`), or change it where it is generated; \`--dry-run\` shows what is to be added.`,
  })
}

/** Replaces the file whole, with the owner, the group and the mode it had; a new one gets `mode`. */
export function writeSettings({ path, real, stat }: SettingsFile, bytes: Buffer, mode: number): void {
  try {
    mkdirSync(dirname(real), { recursive: true })
    renameInto(real, (staged) =>
      writeStaged(staged, bytes, stat, stat === undefined ? mode : stat.mode & 0o7777),
    )
  } catch (error) {
    throw codedError(error, `write ${path}`, 'Change its permissions, or install for another place.')
  }
}

function writeStaged(staged: string, bytes: Buffer, stat: Stats | undefined, mode: number): void {
  const fd = openSync(staged, 'wx', 0o600)
  try {
    writeFileSync(fd, bytes)
    const kept = stat === undefined || keepOwner(fd, stat)
    // Another group gets no more than others have.
    fchmodSync(fd, kept ? mode : (mode & ~0o070) | ((mode & 0o007) << 3))
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

/** False if the group cannot be kept: only root gives a file to a group that it is not in itself. */
function keepOwner(fd: number, { uid, gid }: Stats): boolean {
  const made = fstatSync(fd)
  if (made.uid === uid && made.gid === gid) return true
  try {
    fchownSync(fd, uid, gid)
    return true
  } catch (error) {
    if (made.uid !== uid) throw error
    return false
  }
}

export function unlinkIfExists(path: string): void {
  try {
    ifExists(() => unlinkSync(path))
  } catch (error) {
    throw codedError(error, `remove ${path}`)
  }
}

/** Directories that were made for the file go with it, as far as nothing else is in them; `outer` and above stay. */
export function removeEmptyAbove(path: string, outer: string): void {
  for (let at = dirname(path); at !== outer && isWithin(at, outer); at = dirname(at)) {
    try {
      rmdirSync(at)
    } catch {
      return
    }
  }
}
