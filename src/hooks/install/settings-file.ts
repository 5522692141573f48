import {
  closeSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  type Stats,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { renameInto } from '../../base/fs/atomic-file.ts'
import { ifExists, lstatIfExists } from '../../base/fs/exists.ts'
import { nonDirectoryOn } from '../../base/fs/paths.ts'
import { codedError, errorCode, StintError } from '../../base/errors/stint-error.ts'

/** Far more than any settings file needs. */
const maxBytes = 16 << 20

/** A file that belongs to another program: its content and its real path. */
export interface SettingsFile {
  /** The path under which the program reads it. */
  path: string
  /** The path behind all links: people keep their settings elsewhere and link to them. */
  real: string
  /** Whether the last name of the path is a link. */
  isLink: boolean
  /** Undefined if the file does not exist. */
  bytes: Buffer | undefined
  stat: Stats | undefined
}

export function readSettingsFile(path: string): SettingsFile {
  try {
    const stat = statSync(path, { throwIfNoEntry: false })
    // To Node 22, a path below a file is only missing; Node 20 throws ENOTDIR.
    const obstacle = stat === undefined ? nonDirectoryOn(dirname(path)) : undefined
    if (obstacle !== undefined)
      throw new StintError('SETTINGS_INVALID', `${path} cannot be a file: ${obstacle} is not a directory`)
    if (stat === undefined) return { path, real: path, isLink: false, bytes: undefined, stat }
    const real = realpathSync.native(path)
    const isLink = lstatSync(path).isSymbolicLink()
    if (!stat.isFile()) throw new StintError('SETTINGS_INVALID', `${path} is not a file`)
    if (stat.size > maxBytes)
      throw new StintError('SETTINGS_INVALID', `${path} is too large: ${stat.size} bytes`)
    return { path, real, isLink, bytes: readFileSync(real), stat }
  } catch (error) {
    if (errorCode(error) === 'ENOTDIR' || errorCode(error) === 'ELOOP')
      throw new StintError('SETTINGS_INVALID', `${path} cannot be a file: ${errorCode(error)}`, {
        cause: error,
      })
    throw codedError(
      error,
      `read ${path}`,
      'Change its permissions, or install the hooks elsewhere (--user, --project).',
    )
  }
}

/**
 * Throws for a file without any write permission, and for a link that leads nowhere: a rename would replace
 * them against their owner's intent.
 */
export function checkWritable({ path, stat }: SettingsFile): void {
  if (stat === undefined && lstatIfExists(path) !== undefined)
    throw new StintError('SETTINGS_INVALID', `${path} is a link to a file that does not exist`)
  if (stat === undefined || (stat.mode & 0o222) !== 0) return
  throw new StintError('PERMISSION_DENIED', `${path} is read-only`, {
    hint: `Allow writing (\`chmod u+w\`), or change it where it is generated; \`--dry-run\` shows what to add.`,
  })
}

/** Replaces the whole file, and keeps its owner, group and mode; a new file gets `mode`. */
export function writeSettingsFile({ path, real, stat }: SettingsFile, bytes: Buffer, mode: number): void {
  try {
    mkdirSync(dirname(real), { recursive: true })
    renameInto(real, (staged) =>
      writeStaged(staged, bytes, stat, stat === undefined ? mode : stat.mode & 0o7777),
    )
  } catch (error) {
    throw codedError(
      error,
      `write ${path}`,
      'Make it writable, or install the hooks elsewhere (--user, --project).',
    )
  }
}

function writeStaged(staged: string, bytes: Buffer, stat: Stats | undefined, mode: number): void {
  const fd = openSync(staged, 'wx', 0o600)
  try {
    writeFileSync(fd, bytes)
    // The members of a group that the file cannot keep had their own rights: another group gets none.
    const keepsGroup = stat === undefined || keepOwner(fd, stat)
    fchmodSync(fd, keepsGroup ? mode : mode & ~0o070)
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

/** Only root may give a file to another user; false if this user is not in its group, which is lost. */
function keepOwner(fd: number, { uid, gid }: Stats): boolean {
  try {
    fchownSync(fd, uid, gid)
    return true
  } catch (error) {
    if (fstatSync(fd).uid !== uid) throw error
    return false
  }
}

/** Whether a file has the bytes that were read. */
export function isUnchanged({ path, bytes }: SettingsFile): boolean {
  const now = readSettingsFile(path).bytes
  return bytes === undefined || now === undefined ? bytes === now : bytes.equals(now)
}

export function unlinkIfExists(path: string): void {
  try {
    // A read-only file system also refuses to remove a file that does not exist.
    if (lstatIfExists(path) !== undefined) ifExists(() => unlinkSync(path))
  } catch (error) {
    throw codedError(error, `remove ${path}`)
  }
}

/**
 * Decodes UTF-8, without a byte order mark; throws if encoding would not restore the rest. An empty file
 * becomes `emptyText`.
 */
export function decode(bytes: Buffer | undefined, emptyText = '{}\n'): string {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return text.trim() === '' ? emptyText : text
  } catch (error) {
    throw new StintError('SETTINGS_INVALID', 'it is not UTF-8', { cause: error })
  }
}
