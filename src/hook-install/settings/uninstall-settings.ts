import { about, type Change } from '../change.ts'
import { findOurs, withoutEntries } from './edit-hooks.ts'
import { type Shape, shapes } from './entry.ts'
import { exclusively } from '../exclusive.ts'
import { backupOf, type SettingsTarget } from './install-settings.ts'
import { type JsonPath, nodeAt, parseJson } from '../json/parse.ts'
import { readRecord, removeRecord, sha256 } from './install-record.ts'
import {
  checkWritable,
  isUnchanged,
  readSettings,
  removeEmptyAbove,
  type SettingsFile,
  unlinkIfExists,
  writeSettings,
} from './settings-file.ts'
import { decode, encode } from './settings-text.ts'

/**
 * Takes our entries out again. If nobody has changed the file since, it is as it was before, to the byte, or not there, if it was not; else
 * only what is ours goes. `keep` is the innermost directory that stays in any case.
 */
export async function uninstallSettings(
  target: SettingsTarget,
  { dryRun, keep }: { dryRun: boolean; keep: string },
): Promise<Change> {
  const plan = () => about(target.path, () => planUninstall(readSettings(target.path), target))
  if (dryRun) return plan().change
  const { real } = readSettings(target.path)
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
  // A file without our name in it need not even be understood.
  if (file.bytes === undefined || !file.bytes.includes('stint-hook')) return absent
  const { text, bom } = decode(file.bytes)
  if (findOurs(text, agent, shape).length === 0) return absent
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
    if (change.after !== undefined) writeSettings(file, change.after, 0o600)
    else {
      unlinkIfExists(file.real)
      removeEmptyAbove(file.real, keep)
    }
  }
  unlinkIfExists(backupOf(file.real))
  removeRecord(file.real)
  return change
}

const readBackup = (file: SettingsFile): Buffer | undefined => readSettings(backupOf(file.real)).bytes

/** What was there before we came is not ours to remove, even if it is empty. */
function existedIn(backup: Buffer | undefined): (path: JsonPath) => boolean {
  try {
    const root = parseJson(decode(backup).text)
    return (path) => nodeAt(root, path) !== undefined
  } catch {
    return () => false
  }
}

const isOnlyOurs = (text: string, shape: Shape): boolean =>
  (parseJson(text).children ?? []).every(({ children }) =>
    Object.hasOwn(shape.root, String(children?.[0]?.value)),
  )
