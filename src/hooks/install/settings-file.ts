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
  type Stats,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { renameInto } from '../../base/fs/atomic-file.ts'
import { ifExists, lstatIfExists } from '../../base/fs/exists.ts'
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
    const real = realTargetPath(path)
    const stat = statSync(real, { throwIfNoEntry: false })
    const isLink = lstatIfExists(path)?.isSymbolicLink() ?? false
    if (stat === undefined) return { path, real, isLink, bytes: undefined, stat }
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
 * The path behind all links, even behind a last link to a file that does not exist yet: the path must be the
 * same before and after the file is created. (`realParentPath` of base does not follow the last link.)
 */
function realTargetPath(path: string): string {
  try {
    return realpathSync.native(path)
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error
    const directory = dirname(path) === path ? path : realTargetPath(dirname(path))
    let target: string
    try {
      target = readlinkSync(path)
    } catch {
      return join(directory, basename(path))
    }
    return realTargetPath(resolve(directory, target))
  }
}

/** Throws for a file without any write permission: a rename would replace it against its owner's intent. */
export function checkWritable({ path, stat }: SettingsFile): void {
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
    const isOwnerKept = stat === undefined || keepOwner(fd, stat)
    // If the group cannot be kept, the new group gets only the permissions of others.
    fchmodSync(fd, isOwnerKept ? mode : (mode & ~0o070) | ((mode & 0o007) << 3))
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

/** False if the group cannot be kept: only root may give a file to a group that it is not a member of. */
function keepOwner(fd: number, { uid, gid }: Stats): boolean {
  const staged = fstatSync(fd)
  if (staged.uid === uid && staged.gid === gid) return true
  try {
    fchownSync(fd, uid, gid)
    return true
  } catch (error) {
    if (staged.uid !== uid) throw error
    return false
  }
}

export function unlinkIfExists(path: string): void {
  try {
    // A read-only file system also refuses to remove a file that does not exist.
    if (lstatIfExists(path) !== undefined) ifExists(() => unlinkSync(path))
  } catch (error) {
    throw codedError(error, `remove ${path}`)
  }
}

/** The content of a settings file, with all that is needed to write it back unchanged. */
interface SettingsText {
  text: string
  /** The file starts with a byte order mark. */
  bom: boolean
}

const mark = '\uFEFF'

/** Decodes UTF-8; throws if encoding would not restore the bytes. An empty file becomes `emptyText`. */
export function decode(bytes: Buffer | undefined, emptyText = '{}\n'): SettingsText {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (error) {
    throw new StintError('SETTINGS_INVALID', 'it is not UTF-8', { cause: error })
  }
  const bom = text.startsWith(mark)
  const plain = bom ? text.slice(mark.length) : text
  return { text: plain.trim() === '' ? emptyText : plain, bom }
}

export const encode = ({ text, bom }: SettingsText): Buffer => Buffer.from(bom ? mark + text : text)
