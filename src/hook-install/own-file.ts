import { StintError } from '../base/errors/stint-error.ts'
import { type Change, exclusively } from './change.ts'
import {
  checkWritable,
  readSettingsFile,
  removeEmptyAbove,
  unlinkIfExists,
  writeSettingsFile,
} from './settings/settings-file.ts'

/** A file that stint writes as a whole, and recognizes as its own. */
export interface OwnFile extends Pick<Change, 'agent' | 'place' | 'path'> {
  isOurs(text: string): boolean
  /** The permissions of a new file. */
  mode: number
}

/** Writes the file; throws `NAME_TAKEN` if it is not stint's. */
export async function writeOwnFile(
  { isOurs, mode, ...target }: OwnFile,
  { text, dryRun }: { text: () => string; dryRun: boolean },
): Promise<Change> {
  const act = (): Change => {
    const after = Buffer.from(text())
    const file = readSettingsFile(target.path)
    const change = { ...target, before: file.bytes, after }
    if (file.bytes?.equals(after)) return { ...change, outcome: 'unchanged' }
    if (file.bytes !== undefined && !isOurs(file.bytes.toString()))
      throw new StintError('NAME_TAKEN', `${target.path} exists already, and was not written by stint`, {
        hint: 'Move it away, then try again.',
      })
    checkWritable(file)
    if (!dryRun) writeSettingsFile(file, after, mode)
    return { ...change, outcome: file.bytes === undefined ? 'installed' : 'updated' }
  }
  return dryRun ? act() : exclusively(target.path, act)
}

/** Removes the file, if it is stint's, and the empty directories above it, up to `keep`. */
export async function removeOwnFile(
  { agent, place, path, isOurs }: OwnFile,
  { dryRun, keep }: { dryRun: boolean; keep: string },
): Promise<Change> {
  const act = (): Change => {
    const { bytes } = readSettingsFile(path)
    const change = { agent, place, path, before: bytes }
    if (bytes === undefined || !isOurs(bytes.toString()))
      return { ...change, outcome: 'absent', after: bytes }
    if (!dryRun) {
      unlinkIfExists(path)
      removeEmptyAbove(path, keep)
    }
    return { ...change, outcome: 'restored', after: undefined }
  }
  return dryRun || readSettingsFile(path).bytes === undefined ? act() : exclusively(path, act)
}
