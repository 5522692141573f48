import { type Change, exclusively, namingFile } from '../change.ts'
import {
  type InstallRecord,
  type PartName,
  partsOf,
  readRecord,
  removeRecord,
  sha256,
  writeRecord,
} from './install-record.ts'
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

/** What stint adds to a settings file beside the settings of its user: its hooks, or its MCP server. */
export interface SettingsPart {
  readonly name: PartName
  /** A word in every file that contains the part. A file without it need not be valid. */
  readonly word: string
  /** The text of a file without settings. */
  readonly emptyText: string
  /** The words of the chosen options, for the record of the installation. */
  readonly options?: string[]
  isIn(text: string): boolean
  /** Adds or updates the part; throws `SETTINGS_INVALID` if the file has another form. */
  addTo(text: string): string
  /** Removes the part, and its containers that are empty then, except those in `before`, the backup. */
  removeFrom(text: string, before: string | undefined): string
  /** True if a file without the part contains nothing of its user's. */
  isBlank(text: string): boolean
}

type FileTarget = Pick<Change, 'agent' | 'place' | 'path'>

/** A change, the file that it was planned for, and what is known about that file. */
interface Plan {
  file: SettingsFile
  change: Change
  part: SettingsPart
  record: InstallRecord | undefined
  /** The other parts that stint has in the file. */
  others: PartName[]
}

/** Adds the part to a settings file, or updates it; with `dryRun`, only plans the change. */
export async function installPart(
  target: FileTarget,
  { part, dryRun }: { part: () => SettingsPart; dryRun: boolean },
): Promise<Change> {
  const plan = (): Plan =>
    namingFile(target.path, () => planInstall(readSettingsFile(target.path), target, part()))
  return dryRun ? plan().change : carryOut(target, plan, writeInstalled)
}

/**
 * Removes the part. An unchanged file is restored to the byte, or removed if the installation created it;
 * from a changed file, only the part goes. `keep` is the innermost directory that is never removed.
 */
export async function uninstallPart(
  target: FileTarget,
  { part, dryRun, keep }: { part: SettingsPart; dryRun: boolean; keep: string },
): Promise<Change> {
  const plan = (): Plan =>
    namingFile(target.path, () => planUninstall(readSettingsFile(target.path), target, part))
  const { change, record } = plan()
  const isUnknown = change.outcome === 'absent' && !partsOf(record).includes(part.name)
  return dryRun || isUnknown ? change : carryOut(target, plan, (planned) => writeUninstalled(planned, keep))
}

/** Makes a change under the file's lease. The agent takes no lease: plan again if it has written. */
const carryOut = ({ path }: FileTarget, plan: () => Plan, write: (planned: Plan) => void): Promise<Change> =>
  exclusively(readSettingsFile(path).real, () => {
    for (;;) {
      const planned = plan()
      if (!isUnchanged(planned.file)) continue
      write(planned)
      return planned.change
    }
  })

const knownAbout = (
  file: SettingsFile,
  part: SettingsPart,
): Pick<Plan, 'file' | 'part' | 'record' | 'others'> => {
  const record = readRecord(file.real)
  return { file, part, record, others: partsOf(record).filter((name) => name !== part.name) }
}

function planInstall(file: SettingsFile, target: FileTarget, part: SettingsPart): Plan {
  const known = knownAbout(file, part)
  const { text, bom } = decode(file.bytes, part.emptyText)
  const isFirst = !part.isIn(text)
  const now = part.addTo(text)
  const same = !isFirst && now === text
  if (!same) checkWritable(file)
  const isBackedUp = isFirst && known.others.length === 0 && file.bytes !== undefined
  const change: Change = {
    ...target,
    outcome: same ? 'unchanged' : isFirst ? 'installed' : 'updated',
    before: file.bytes,
    after: same ? file.bytes : encode({ text: now, bom }),
    ...(isBackedUp ? { backup: backupOf(file.real) } : {}),
  }
  return { ...known, change }
}

const backupOf = (real: string): string => `${real}.stint-backup`

/** Writes the backup first and the record last: the file can be restored after a crash at any point. */
function writeInstalled({ file, part, record, others, change }: Plan): void {
  const { agent, place, outcome, after } = change
  if (outcome === 'unchanged' || after === undefined) return
  // The backup is the file without any part of stint's, whatever was installed first.
  const isFirst = outcome === 'installed' && others.length === 0
  const mode = place === 'user' ? 0o600 : 0o644
  const backup = backupOf(file.real)
  if (isFirst) unlinkIfExists(backup)
  if (isFirst && file.bytes !== undefined) writeSettingsFile({ ...file, real: backup }, file.bytes, mode)
  writeSettingsFile(file, after, mode)
  const untouched = isFirst || (file.bytes !== undefined && record?.sha256 === sha256(file.bytes))
  writeRecord({
    schema_version: 1,
    agent,
    place,
    path: file.real,
    existed: isFirst ? file.bytes !== undefined : (record?.existed ?? true),
    sha256: untouched ? sha256(after) : null,
    options: part.options ?? record?.options ?? [],
    parts: [...others, part.name],
  })
}

function planUninstall(file: SettingsFile, target: FileTarget, part: SettingsPart): Plan {
  const known = knownAbout(file, part)
  const { record, others } = known
  const plan = (outcome: Change['outcome'], after: Buffer | undefined): Plan => ({
    ...known,
    change: { ...target, before: file.bytes, outcome, after },
  })
  if (file.bytes === undefined || !file.bytes.includes(part.word)) return plan('absent', file.bytes)
  const { text, bom } = decode(file.bytes, part.emptyText)
  if (!part.isIn(text)) return plan('absent', file.bytes)
  checkWritable(file)
  const isAlone = others.length === 0
  const isUntouched = record?.sha256 === sha256(file.bytes)
  const backup = record?.existed === false ? undefined : readSettingsFile(backupOf(file.real)).bytes
  if (isAlone && isUntouched && record.existed === (backup !== undefined)) return plan('restored', backup)
  const left = part.removeFrom(text, backup && decodeIfPossible(backup, part))
  const nothingLeft = isAlone && record?.existed === false && part.isBlank(left)
  const outcome = isUntouched && !isAlone ? 'restored' : 'removed'
  return plan(outcome, nothingLeft ? undefined : encode({ text: left, bom }))
}

function writeUninstalled({ file, record, others, change: { outcome, after } }: Plan, keep: string): void {
  if (outcome !== 'absent' && after !== undefined) writeSettingsFile(file, after, 0o600)
  if (outcome !== 'absent' && after === undefined) {
    unlinkIfExists(file.real)
    removeEmptyAbove(file.real, keep)
  }
  if (record !== undefined && others.length > 0) {
    const hash = outcome === 'restored' && after !== undefined ? sha256(after) : null
    writeRecord({ ...record, parts: others, sha256: outcome === 'absent' ? record.sha256 : hash })
    return
  }
  unlinkIfExists(backupOf(file.real))
  removeRecord(file.real)
}

function decodeIfPossible(bytes: Buffer, { emptyText }: SettingsPart): string | undefined {
  try {
    return decode(bytes, emptyText).text
  } catch {
    return undefined
  }
}
