import { join } from 'node:path'
import { ifPossible } from '../../base/errors/if-possible.ts'
import { publishFileSteps } from '../../base/fs/atomic-file.ts'
import type { DiskQueue } from '../../base/fs/disk-queue.ts'
import type { DiskSteps } from '../../base/fs/disk-steps.ts'
import { ensureDirectory, listIfExists, readFile } from '../../base/fs/disk.ts'
import { ifExists } from '../../base/fs/exists.ts'
import { ulidAfter } from '../../base/text/id.ts'
import type { SpooledEntry, SpoolEntry } from '../driver.ts'
import { logNames } from '../log/log-end.ts'
import { readLines } from '../log/read.ts'
import { parseLogRecord } from '../log/record.ts'
import type { Snapshot } from '../log/snapshot-codec.ts'
import { isSpoolEntry } from '../make-entry.ts'
import type { SessionDirectory } from './session-directory.ts'
import { withFileErrors } from './session-file-errors.ts'

/** Leaves entries for the next holder of a session, after those in the spool. */
export function* writeSpoolFile(directory: SessionDirectory, entries: readonly SpoolEntry[]): DiskSteps {
  const { disk, paths } = directory
  yield* ensureDirectory(disk, paths.spool)
  const name = `${ulidAfter(listSpoolFiles(directory).at(-1))}.json`
  yield* publishFileSteps(join(paths.spool, name), JSON.stringify(entries), disk)
}

/** The names of the spool files, oldest first. */
export const listSpoolFiles = ({ disk, paths }: SessionDirectory): string[] =>
  listIfExists(disk, paths.spool)
    .filter((name) => /^[0-9A-HJKMNP-TV-Z]{26}\.json$/.test(name))
    .sort()

/**
 * Reads the entries that are in the spool and in no log yet, oldest first. A holder may take some in
 * meanwhile: an entry whose line is written after the log was read up to there is still among them.
 */
export function* readSpool(directory: SessionDirectory): Generator<void, SpooledEntry[]> {
  if (listSpoolFiles(directory).length === 0) return []
  // Read the snapshot before the files: it lists each entry that the logs had and whose file still existed. A
  // snapshot that a holder takes after it has removed a file that is read here would not list its entries.
  const snapshot = directory.snapshots.newest()
  const names = listSpoolFiles(directory)
  const entries: SpooledEntry[] = []
  for (const name of names) {
    entries.push(...(readSpoolFile(directory, name) ?? []))
    yield
  }
  const drained = yield* spoolIdsInLogs(directory, names, snapshot)
  return entries.filter(({ spool }) => !drained.has(spool))
}

/** The ids of the entries in these files that the logs have already: in the snapshot, or after it. */
export function* spoolIdsInLogs(
  directory: SessionDirectory,
  names: readonly string[],
  snapshot: Pick<Snapshot, 'ends' | 'spooled'> | undefined,
): Generator<void, Set<string>> {
  const ids = new Set(snapshot?.spooled)
  if (names.length === 0) return ids
  const files = new Set(names.map(spoolFileId))
  for (const log of logNames) {
    const from = (snapshot?.ends[log].seq ?? 0) + 1
    for (const { line, header } of readLines(directory.logs[log], { from })) {
      if (header.seq % linesPerStep === 0) yield
      const spoolId: unknown = line.bytes.includes('"spool":"') ? parseLogRecord(line.bytes).spool : undefined
      if (typeof spoolId === 'string' && files.has(spoolFileId(spoolId))) ids.add(spoolId)
    }
  }
  return ids
}

const linesPerStep = 64

/** Reads a spool file; undefined if it is missing or invalid. */
function readSpoolFile({ disk, paths }: SessionDirectory, name: string): SpooledEntry[] | undefined {
  const text = readFile(disk, join(paths.spool, name))?.toString() ?? ''
  const entries = ifPossible(() => JSON.parse(text) as unknown)
  if (!Array.isArray(entries) || !entries.every(isSpoolEntry)) return undefined
  return entries.map((entry, i) => ({ ...entry, spool: `${spoolFileId(name)}/${i}` }))
}

/**
 * Passes each spooled entry to `append`, and then removes the files. `spooled` has the ids of the entries
 * that are in the logs already: a crash may have come before their files were removed.
 */
export async function drainSpoolFiles(
  directory: SessionDirectory,
  queue: DiskQueue,
  spooled: Set<string>,
  append: (entry: SpooledEntry) => Promise<void>,
): Promise<void> {
  const { root } = directory.paths
  if (withFileErrors('look into the spool', root, () => listSpoolFiles(directory).length === 0)) return
  const { drained, found } = await withFileErrors('read the spool', root, () => queue.run(readAll(directory)))
  // All at once, so that they share a sync.
  await Promise.all(found.filter(({ spool }) => !spooled.has(spool)).map(append))
  await withFileErrors('clear the spool', root, () => queue.run(removeFiles(directory, drained)))
  for (const { spool } of found) spooled.delete(spool)
}

/** Reads all files of the spool, and moves the invalid ones out of it. */
function* readAll(directory: SessionDirectory): DiskSteps<{ drained: string[]; found: SpooledEntry[] }> {
  const drained: string[] = []
  const found: SpooledEntry[] = []
  for (const name of listSpoolFiles(directory)) {
    const entries = readSpoolFile(directory, name)
    yield
    if (entries === undefined) {
      yield* quarantine(directory, name)
      continue
    }
    found.push(...entries)
    drained.push(name)
  }
  return { drained, found }
}

/** Removes files and syncs: a crash must not bring back entries that were taken in long ago. */
function* removeFiles({ disk, paths: { spool } }: SessionDirectory, names: readonly string[]): DiskSteps {
  for (const name of names) ifExists(() => disk.unlink(join(spool, name)))
  yield { call: 'syncDirectory', path: spool }
}

/** Moves an invalid file out of the spool, where every holder would read it again. */
function* quarantine({ disk, paths }: SessionDirectory, name: string): DiskSteps {
  const { spool, quarantine: aside } = paths
  yield* ensureDirectory(disk, aside)
  ifExists(() => disk.rename(join(spool, name), join(aside, `spool-${name}`)))
  yield { call: 'syncDirectory', path: aside }
  yield { call: 'syncDirectory', path: spool }
}

/** The part that the name of a spool file and the ids of its entries share. */
const spoolFileId = (nameOrId: string): string => nameOrId.slice(0, 26)
