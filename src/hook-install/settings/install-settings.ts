import { about, type Change } from '../change.ts'
import { findOurs, withEntries } from './edit-hooks.ts'
import { type Entry, entriesOf, type EntryOptions, type Shape, shapes } from './entry.ts'
import { exclusively } from '../exclusive.ts'
import type { SettingsAgent } from '../agent.ts'
import type { Place } from '../install-scope.ts'
import { readRecord, sha256, writeRecord } from './install-record.ts'
import {
  checkWritable,
  isUnchanged,
  readSettings,
  type SettingsFile,
  unlinkIfExists,
  writeSettings,
} from './settings-file.ts'
import { decode, encode } from './settings-text.ts'

/** An agent's settings file in one of its places. */
export interface SettingsTarget {
  agent: SettingsAgent
  place: Place
  path: string
}

export const backupOf = (real: string): string => `${real}.stint-backup`

/** Adds our entries to a settings file, or brings them up to date; with `dryRun` only says what that would be. */
export async function installSettings(
  target: SettingsTarget,
  options: Omit<EntryOptions, 'place'> & { dryRun: boolean },
): Promise<Change> {
  const { agent, place, path } = target
  const { dryRun, ...chosen } = options
  const entries = entriesOf(agent, { ...chosen, place })
  const plan = (): Plan => about(path, () => planInstall(readSettings(path), target, entries, shapes[agent]))
  if (dryRun) return plan().change
  return exclusively(readSettings(path).real, () => {
    for (;;) {
      const planned = plan()
      // An agent may write its own settings any time; it does not ask for our lease.
      if (planned.change.outcome === 'unchanged' || isUnchanged(planned.file)) return carryOut(planned)
    }
  })
}

interface Plan {
  file: SettingsFile
  change: Change
  /** Was nothing of ours in it? */
  first: boolean
}

function planInstall(
  file: SettingsFile,
  { agent, place, path }: SettingsTarget,
  entries: readonly Entry[],
  shape: Shape,
): Plan {
  const { text, bom } = decode(file.bytes)
  const first = findOurs(text, agent, shape).length === 0
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

/** The backup first, the record last: whatever a crash leaves, the file can be put back. */
function carryOut({ file, change, first }: Plan): Change {
  const { agent, place, after } = change
  if (change.outcome === 'unchanged' || after === undefined) return change
  const mode = place === 'user' ? 0o600 : 0o644
  const known = readRecord(file.real)
  if (first) unlinkIfExists(backupOf(file.real))
  if (first && file.bytes !== undefined) {
    const place = backupOf(file.real)
    writeSettings({ ...file, path: place, real: place }, file.bytes, mode)
  }
  writeSettings(file, after, mode)
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
