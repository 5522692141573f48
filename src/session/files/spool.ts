import { join } from 'node:path'
import { publishFile } from '../../base/fs/atomic-file.ts'
import { type Disk, ensureDirectory, listIfExists, readFile } from '../../base/fs/disk.ts'
import { ulid } from '../../base/text/id.ts'
import { ifExists } from '../../base/fs/exists.ts'
import type { SpoolEntry } from '../driver.ts'
import type { SessionPaths } from './paths.ts'

/** Leaves entries, whole and on disk, for whoever writes next. Files are taken in by the order of their names, which is the order of time. */
export function writeSpoolFile(disk: Disk, { spool }: SessionPaths, entries: readonly SpoolEntry[]): void {
  ensureDirectory(disk, spool)
  publishFile(join(spool, `${ulid()}.json`), JSON.stringify(entries), disk)
}

export const listSpoolFiles = (disk: Disk, { spool }: SessionPaths): string[] =>
  listIfExists(disk, spool)
    .filter((name) => /^[0-9A-HJKMNP-TV-Z]{26}\.json$/.test(name))
    .sort()

/** What a visitor left at one time; undefined if it makes no sense. */
export function readSpoolFile(disk: Disk, { spool }: SessionPaths, name: string): SpoolEntry[] | undefined {
  const text = readFile(disk, join(spool, name))?.toString()
  if (text === undefined) return undefined
  try {
    const entries = JSON.parse(text) as unknown
    return Array.isArray(entries) && entries.every(isEntry) ? entries : undefined
  } catch {
    return undefined
  }
}

/** Gone for good on return: a crash must not bring back what was taken in long ago. */
export function removeSpoolFiles(disk: Disk, { spool }: SessionPaths, names: readonly string[]): void {
  for (const name of names) ifExists(() => disk.unlink(join(spool, name)))
  disk.syncDirectory(spool)
}

/** What makes no sense is kept, but elsewhere: here it would be looked at for ever. */
export function quarantineSpoolFile(disk: Disk, { spool, quarantine }: SessionPaths, name: string): void {
  ensureDirectory(disk, quarantine)
  ifExists(() => disk.rename(join(spool, name), join(quarantine, `spool-${name}`)))
  disk.syncDirectory(quarantine)
  disk.syncDirectory(spool)
}

/** How an entry is known again in the logs. */
export const spoolMark = (name: string, index: number): string => `${spoolFileId(name)}/${index}`

/** What the name of a file and the marks of its entries have in common. */
export const spoolFileId = (nameOrMark: string): string => nameOrMark.slice(0, 26)

function isEntry(value: unknown): value is SpoolEntry {
  if (typeof value !== 'object' || value === null) return false
  const { log, type, json } = value as Record<string, unknown>
  if ((log !== 'journal' && log !== 'audit') || typeof type !== 'string' || typeof json !== 'string')
    return false
  try {
    JSON.parse(json)
    return true
  } catch {
    return false
  }
}
