import { type Change, exclusively, type HookWriting, namingFile } from '../change.ts'
import { hostSettings, type SettingsShape } from '../host-settings.ts'
import { type JsonPath, nodeAt, parseJson } from '../json/parse.ts'
import type { SettingsTarget } from '../target.ts'
import { choiceFlags } from './command-text.ts'
import { findHandlers, withEntries, withoutEntries } from './edit-hooks.ts'
import { hookEntries, type HookEntry } from './entry.ts'
import { readRecord, removeRecord, sha256, writeRecord } from './install-record.ts'
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

/** A change, and the file that it was planned for. */
interface Plan {
  file: SettingsFile
  change: Change
}

/** Adds stint's hooks to a settings file, or updates them; with `dryRun`, only plans the change. */
export async function installSettings(
  target: SettingsTarget,
  { dryRun, program, choices }: HookWriting,
): Promise<Change> {
  const plan = (): Plan & { options: string[] } => {
    const chosen = choices()
    const entries = hookEntries(target.agent, { ...chosen, program, place: target.place })
    const planned = namingFile(target.path, () => planInstall(readSettingsFile(target.path), target, entries))
    return { ...planned, options: choiceFlags(chosen) }
  }
  return dryRun ? plan().change : carryOut(target, plan, writeInstalled)
}

/**
 * Removes stint's hooks. An unchanged file is restored to the byte, or removed if the installation created
 * it; from a changed file, only stint's hooks go. `keep` is the innermost directory that is never removed.
 */
export async function uninstallSettings(
  target: SettingsTarget,
  { dryRun, keep }: { dryRun: boolean; keep: string },
): Promise<Change> {
  const plan = () => namingFile(target.path, () => planUninstall(readSettingsFile(target.path), target))
  const { file, change } = plan()
  if (dryRun || (change.outcome === 'absent' && readRecord(file.real) === undefined)) return change
  return carryOut(target, plan, (planned) => writeUninstalled(planned, keep))
}

/** Makes a change under the file's lease. The agent takes no lease: plan again if it has written. */
const carryOut = <Planned extends Plan>(
  { path }: SettingsTarget,
  plan: () => Planned,
  write: (planned: Planned) => void,
): Promise<Change> =>
  exclusively(readSettingsFile(path).real, () => {
    for (;;) {
      const planned = plan()
      if (!isUnchanged(planned.file)) continue
      write(planned)
      return planned.change
    }
  })

function planInstall(
  file: SettingsFile,
  { agent, place, path }: SettingsTarget,
  entries: readonly HookEntry[],
): Plan {
  const { text, bom } = decode(file.bytes)
  const { shape } = hostSettings[agent]
  const isFirst = findHandlers(text, agent, shape).length === 0
  const now = withEntries(text, agent, shape, entries)
  const same = !isFirst && now === text
  if (!same) checkWritable(file)
  const change: Change = {
    agent,
    place,
    path,
    outcome: same ? 'unchanged' : isFirst ? 'installed' : 'updated',
    before: file.bytes,
    after: same ? file.bytes : encode({ text: now, bom }),
    ...(isFirst && file.bytes !== undefined ? { backup: backupOf(file.real) } : {}),
  }
  return { file, change }
}

const backupOf = (real: string): string => `${real}.stint-backup`

/** Writes the backup first and the record last: the file can be restored after a crash at any point. */
function writeInstalled({
  file,
  change: { agent, place, outcome, after },
  options,
}: Plan & { options: string[] }): void {
  if (outcome === 'unchanged' || after === undefined) return
  const isFirst = outcome === 'installed'
  const mode = place === 'user' ? 0o600 : 0o644
  const known = readRecord(file.real)
  const backup = backupOf(file.real)
  if (isFirst) unlinkIfExists(backup)
  if (isFirst && file.bytes !== undefined) writeSettingsFile({ ...file, real: backup }, file.bytes, mode)
  writeSettingsFile(file, after, mode)
  const untouched = isFirst || (file.bytes !== undefined && known?.sha256 === sha256(file.bytes))
  writeRecord({
    schema_version: 1,
    agent,
    place,
    path: file.real,
    existed: isFirst ? file.bytes !== undefined : (known?.existed ?? true),
    sha256: untouched ? sha256(after) : null,
    options,
  })
}

function planUninstall(file: SettingsFile, { agent, place, path }: SettingsTarget): Plan {
  const { shape } = hostSettings[agent]
  const plan = (outcome: Change['outcome'], after: Buffer | undefined): Plan => ({
    file,
    change: { agent, place, path, before: file.bytes, outcome, after },
  })
  // A file that does not mention stint-hook need not be valid JSON.
  if (file.bytes === undefined || !file.bytes.includes('stint-hook')) return plan('absent', file.bytes)
  const { text, bom } = decode(file.bytes)
  if (findHandlers(text, agent, shape).length === 0) return plan('absent', file.bytes)
  checkWritable(file)
  const record = readRecord(file.real)
  const backup = record?.existed === false ? undefined : readSettingsFile(backupOf(file.real)).bytes
  if (record?.sha256 === sha256(file.bytes) && record.existed === (backup !== undefined))
    return plan('restored', backup)
  const left = withoutEntries(text, agent, shape, existedIn(backup))
  const nothingLeft = record?.existed === false && isOnlyOurs(left, shape)
  return plan('removed', nothingLeft ? undefined : encode({ text: left, bom }))
}

function writeUninstalled({ file, change: { outcome, after } }: Plan, keep: string): void {
  if (outcome !== 'absent' && after !== undefined) writeSettingsFile(file, after, 0o600)
  if (outcome !== 'absent' && after === undefined) {
    unlinkIfExists(file.real)
    removeEmptyAbove(file.real, keep)
  }
  unlinkIfExists(backupOf(file.real))
  removeRecord(file.real)
}

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
