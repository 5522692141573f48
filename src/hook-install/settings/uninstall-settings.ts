import { type Change, exclusively, namingFile } from '../change.ts'
import { type JsonPath, nodeAt, parseJson } from '../json/parse.ts'
import { findHandlers, withoutEntries } from './edit-hooks.ts'
import { type SettingsShape, shapes } from './entry.ts'
import { readRecord, removeRecord, sha256 } from './install-record.ts'
import { backupOf, type SettingsTarget } from './install-settings.ts'
import {
  checkWritable,
  isUnchanged,
  readSettingsFile,
  removeEmptyAbove,
  type SettingsFile,
  unlinkIfExists,
  writeSettingsFile,
} from './settings-file.ts'
import { decode, encode } from './settings-text.ts'

/**
 * Removes stint's hooks. An unchanged file is restored to the byte, or removed if the installation created
 * it; from a changed file, only stint's hooks go. `keep` is the innermost directory that is never removed.
 */
export async function uninstallSettings(
  target: SettingsTarget,
  { dryRun, keep }: { dryRun: boolean; keep: string },
): Promise<Change> {
  const plan = () => namingFile(target.path, () => planUninstall(readSettingsFile(target.path), target))
  if (dryRun) return plan().change
  const { real } = readSettingsFile(target.path)
  if (plan().change.outcome === 'absent' && readRecord(real) === undefined) return plan().change
  return exclusively(real, () => {
    for (;;) {
      const planned = plan()
      if (isUnchanged(planned.file)) return carryOut(planned.file, planned.change, keep)
    }
  })
}

function planUninstall(
  file: SettingsFile,
  { agent, place, path }: SettingsTarget,
): { file: SettingsFile; change: Change } {
  const shape = shapes[agent]
  const change = { agent, place, path, before: file.bytes }
  const absent = { file, change: { ...change, outcome: 'absent' as const, after: file.bytes } }
  // A file that does not mention stint-hook need not be valid JSON.
  if (file.bytes === undefined || !file.bytes.includes('stint-hook')) return absent
  const { text, bom } = decode(file.bytes)
  if (findHandlers(text, agent, shape).length === 0) return absent
  checkWritable(file)
  const record = readRecord(file.real)
  const backup = record?.existed === false ? undefined : readBackup(file)
  if (
    record !== undefined &&
    record.sha256 === sha256(file.bytes) &&
    record.existed === (backup !== undefined)
  )
    return { file, change: { ...change, outcome: 'restored', after: backup } }
  const left = withoutEntries(text, agent, shape, existedIn(backup))
  const nothingLeft = record?.existed === false && isOnlyOurs(left, shape)
  const after = nothingLeft ? undefined : encode({ text: left, bom })
  return { file, change: { ...change, outcome: 'removed', after } }
}

function carryOut(file: SettingsFile, change: Change, keep: string): Change {
  if (change.outcome !== 'absent') {
    if (change.after !== undefined) writeSettingsFile(file, change.after, 0o600)
    else {
      unlinkIfExists(file.real)
      removeEmptyAbove(file.real, keep)
    }
  }
  unlinkIfExists(backupOf(file.real))
  removeRecord(file.real)
  return change
}

const readBackup = (file: SettingsFile): Buffer | undefined => readSettingsFile(backupOf(file.real)).bytes

/** Tells which containers existed before the installation: those stay, even if they are empty. */
function existedIn(backup: Buffer | undefined): (path: JsonPath) => boolean {
  try {
    const root = parseJson(decode(backup).text)
    return (path) => nodeAt(root, path) !== undefined
  } catch {
    return () => false
  }
}

const isOnlyOurs = (text: string, shape: SettingsShape): boolean =>
  (parseJson(text).children ?? []).every(({ children }) =>
    Object.hasOwn(shape.root, String(children?.[0]?.value)),
  )
