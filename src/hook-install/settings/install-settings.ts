import type { InstallScope, SettingsAgent } from '../agents.ts'
import { type Change, exclusively, namingFile } from '../change.ts'
import { findHandlers, withEntries } from './edit-hooks.ts'
import { type EntryOptions, hookEntries, type HookEntry, type SettingsShape, shapes } from './entry.ts'
import { readRecord, sha256, writeRecord } from './install-record.ts'
import {
  checkWritable,
  isUnchanged,
  readSettingsFile,
  type SettingsFile,
  unlinkIfExists,
  writeSettingsFile,
} from './settings-file.ts'
import { decode, encode } from './settings-text.ts'

/** The settings file of an agent in one scope. */
export interface SettingsTarget {
  agent: SettingsAgent
  place: InstallScope
  path: string
}

export const backupOf = (real: string): string => `${real}.stint-backup`

/** Adds stint's hooks to a settings file, or updates them; with `dryRun`, only plans the change. */
export async function installSettings(
  target: SettingsTarget,
  options: Omit<EntryOptions, 'place'> & { dryRun: boolean },
): Promise<Change> {
  const { agent, place, path } = target
  const { dryRun, ...chosen } = options
  const entries = hookEntries(agent, { ...chosen, place })
  const plan = (): Plan =>
    namingFile(path, () => planInstall(readSettingsFile(path), target, entries, shapes[agent]))
  if (dryRun) return plan().change
  return exclusively(readSettingsFile(path).real, () => {
    for (;;) {
      const planned = plan()
      // The agent writes its settings without taking the lease: plan again if the file has changed.
      if (planned.change.outcome === 'unchanged' || isUnchanged(planned.file)) return carryOut(planned)
    }
  })
}

interface Plan {
  file: SettingsFile
  change: Change
  /** The file contained no hook of stint's. */
  first: boolean
}

function planInstall(
  file: SettingsFile,
  { agent, place, path }: SettingsTarget,
  entries: readonly HookEntry[],
  shape: SettingsShape,
): Plan {
  const { text, bom } = decode(file.bytes)
  const first = findHandlers(text, agent, shape).length === 0
  const now = withEntries(text, agent, shape, entries)
  const same = !first && now === text
  if (!same) checkWritable(file)
  const change: Change = {
    agent,
    place,
    path,
    outcome: same ? 'unchanged' : first ? 'installed' : 'updated',
    before: file.bytes,
    after: same ? file.bytes : encode({ text: now, bom }),
    ...(first && file.bytes !== undefined ? { backup: backupOf(file.real) } : {}),
  }
  return { file, change, first }
}

/** Writes the backup first and the record last: the file can be restored after a crash at any point. */
function carryOut({ file, change, first }: Plan): Change {
  const { agent, place, after } = change
  if (change.outcome === 'unchanged' || after === undefined) return change
  const mode = place === 'user' ? 0o600 : 0o644
  const known = readRecord(file.real)
  if (first) unlinkIfExists(backupOf(file.real))
  if (first && file.bytes !== undefined) {
    const backup = backupOf(file.real)
    writeSettingsFile({ ...file, path: backup, real: backup }, file.bytes, mode)
  }
  writeSettingsFile(file, after, mode)
  const untouched = first || (file.bytes !== undefined && known?.sha256 === sha256(file.bytes))
  writeRecord({
    schema_version: 1,
    agent,
    place,
    path: file.real,
    existed: first ? file.bytes !== undefined : (known?.existed ?? true),
    sha256: untouched ? sha256(after) : null,
  })
  return change
}
