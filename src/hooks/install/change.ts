import { StintError } from '../../base/errors/stint-error.ts'
import type { HostName } from '../hosts/host.ts'
import type { HookChoices } from '../options.ts'
import type { InstallPlace } from './agents.ts'
import {
  checkWritable,
  decode,
  isUnchanged,
  readSettingsFile,
  type SettingsFile,
  unlinkIfExists,
  writeSettingsFile,
} from './settings-file.ts'

/** The change of one file, made or planned. */
export interface Change {
  agent: HostName
  place: InstallPlace
  path: string
  outcome: 'installed' | 'updated' | 'unchanged' | 'removed' | 'absent'
  before: Buffer | undefined
  after: Buffer | undefined
}

/** How hooks are written. */
export interface HookWriting {
  program: readonly string[]
  choices: HookChoices
  dryRun: boolean
}

/** What stint adds to a file: its hooks or its MCP server beside the user's settings, or a whole script. */
export interface SettingsPart {
  /** A word in every file that contains the part. A file without it need not be valid. */
  readonly word: string
  /** The text of a file without settings. */
  readonly emptyText: string
  /** The permissions of a new file; by default 0600 for the user's own files, and 0644 in a project. */
  readonly mode?: number
  isIn(text: string): boolean
  /** Adds or updates the part; throws `SETTINGS_INVALID` or `NAME_TAKEN` if that is not possible. */
  addTo(text: string): string
  /** Removes the part, and what contains nothing else. */
  removeFrom(text: string): string
  /** True if a file without the part contains nothing at all: then it goes, unless it is behind a link. */
  isBlank(text: string): boolean
}

type FileTarget = Pick<Change, 'agent' | 'place' | 'path'>

/** A change, and the file as it was when the change was planned. */
interface Plan {
  file: SettingsFile
  change: Change
  mode: number
}

/** Adds the part to a file, or updates it; with `dryRun`, only plans the change. */
export const installPart = (target: FileTarget, part: SettingsPart, dryRun: boolean): Change =>
  carryOut(target, dryRun, () => planInstall(target, part))

/** Removes the part. A file that is empty then goes, unless it is behind a link; all else in it stays. */
export const uninstallPart = (target: FileTarget, part: SettingsPart, dryRun: boolean): Change =>
  carryOut(target, dryRun, () => planUninstall(target, part))

function planInstall(target: FileTarget, part: SettingsPart): Plan {
  const file = readSettingsFile(target.path)
  const text = decode(file.bytes, part.emptyText)
  const isFirst = !part.isIn(text)
  const now = part.addTo(text)
  // Bytes: a byte order mark, which some agents do not understand, goes.
  const isSame = !isFirst && file.bytes?.equals(Buffer.from(now)) === true
  if (!isSame) checkWritable(file)
  return {
    file,
    mode: part.mode ?? (target.place === 'user' ? 0o600 : 0o644),
    change: {
      ...target,
      outcome: isSame ? 'unchanged' : isFirst ? 'installed' : 'updated',
      before: file.bytes,
      after: isSame ? file.bytes : Buffer.from(now),
    },
  }
}

function planUninstall(target: FileTarget, part: SettingsPart): Plan {
  const file = readSettingsFile(target.path)
  const plan = (outcome: Change['outcome'], after: Buffer | undefined): Plan => ({
    file,
    mode: 0o600,
    change: { ...target, outcome, before: file.bytes, after },
  })
  if (file.bytes === undefined || !file.bytes.includes(part.word)) return plan('absent', file.bytes)
  const text = decode(file.bytes, part.emptyText)
  if (!part.isIn(text)) return plan('absent', file.bytes)
  checkWritable(file)
  const rest = part.removeFrom(text)
  // Without its target, the user's link to a settings file would lead nowhere.
  return plan('removed', part.isBlank(rest) && !file.isLink ? undefined : Buffer.from(rest))
}

/** Makes a change, unless there is none or it is only planned. An error about settings names the file. */
function carryOut({ path }: FileTarget, dryRun: boolean, plan: () => Plan): Change {
  try {
    for (;;) {
      const { file, change, mode } = plan()
      if (dryRun || change.outcome === 'unchanged' || change.outcome === 'absent') return change
      // The agent, or another installation, may have written since: plan again on what is there now.
      if (!isUnchanged(file)) continue
      if (change.after === undefined) unlinkIfExists(file.real)
      else writeSettingsFile(file, change.after, mode)
      return change
    }
  } catch (error) {
    if (!(error instanceof StintError) || error.code !== 'SETTINGS_INVALID' || error.message.startsWith(path))
      throw error
    throw new StintError('SETTINGS_INVALID', `${path}: ${error.message}`, error.options)
  }
}

/** A file that stint writes as a whole. */
export interface OwnFile {
  /** By which stint recognizes it. */
  readonly firstLines: string
  readonly mode?: number
  write(program: readonly string[], choices: HookChoices): string
  /** With what it was written. */
  read(text: string): { program: string[]; choices: HookChoices }
}

/** An own file as a part of the file at `path`; without `start`, only for removing it. */
export function ownFilePart(
  file: OwnFile,
  path: string,
  start?: { program: readonly string[]; choices: HookChoices },
): SettingsPart {
  const isOurs = (text: string): boolean => text.startsWith(file.firstLines)
  return {
    word: file.firstLines,
    emptyText: '',
    mode: file.mode,
    isIn: isOurs,
    addTo(text) {
      if (text === '' || isOurs(text)) return file.write(start?.program ?? [], start?.choices ?? {})
      throw new StintError('NAME_TAKEN', `${path} exists already, and was not written by stint`, {
        hint: 'Move it away, then try again.',
      })
    },
    removeFrom: () => '',
    isBlank: (text) => text === '',
  }
}
