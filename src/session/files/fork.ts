import { basename, dirname, join } from 'node:path'
import { errorCode } from '../../base/errors/stint-error.ts'
import { type Fill, replaceBy, replaceOnDisk } from '../../base/fs/atomic-file.ts'
import { closing, type Disk, listIfExists, pieceBytes, readFully } from '../../base/fs/disk.ts'
import { giveWay } from '../../base/process/event-loop.ts'
import { ifRegular } from '../../base/fs/regular-file.ts'
import { listSegments, type LogFiles } from '../log/log-files.ts'
import { positionAfter, readBackwards } from '../log/read.ts'
import type { AuditCheckpoint } from '../log/record.ts'
import type { Manifest } from '../manifest.ts'
import { logUnreadable } from '../session-errors.ts'
import type { RecoveredSession } from './recover.ts'
import { formatManifest, type SessionDirectory } from './session-directory.ts'

/**
 * Gives a staged session the records of another up to `seq`, and its manifest. Files that no longer change
 * are linked, or copied where a link cannot be made; of the segment in which the fork ends, the part up to
 * `seq` is copied. The other session may be written to meanwhile.
 */
export async function forkFiles(
  source: SessionDirectory,
  recovered: RecoveredSession,
  seq: number,
  staged: SessionDirectory,
  manifest: Manifest,
): Promise<void> {
  const { disk } = staged
  const [from, to] = [source.paths, staged.paths]
  const id = basename(from.root)
  await copyLog(id, source.logs.journal, seq, staged.logs.journal)
  const audited =
    seq === recovered.journal.end.seq ? recovered.audit.end.seq : await auditedAt(source.logs.journal, seq)
  if (audited > 0) {
    await disk.makeDirectory(to.audit)
    await copyLog(id, source.logs.audit, audited, staged.logs.audit)
  }
  for (const name of ['blobs', 'state'] as const) await linkAll(disk, from[name], to[name], () => true)
  // A snapshot that covers more than the fork has would attest records that are not there.
  const fitting = new Set(
    [...source.snapshots.newestFirst()]
      .filter(({ ends }) => ends.journal.seq <= seq && ends.audit.seq <= audited)
      .map((snapshot) => `${snapshot.seq}.json`),
  )
  await linkAll(disk, from.snapshots, to.snapshots, (name) => fitting.has(name))
  await disk.syncDirectory(to.root)
  const head = positionAfter(staged.logs.audit, audited)?.sum ?? ''
  const forked = attesting(manifest, seq, { count: audited, head })
  await replaceOnDisk(disk, to.manifest, formatManifest(forked))
}

/** How far the audit log had come when a record was written. */
async function auditedAt(journal: LogFiles, seq: number): Promise<number> {
  for (const { audit } of readBackwards(journal, { before: seq + 1, attested: seq })) {
    if (audit !== undefined) return audit.count
    await giveWay()
  }
  return 0
}

async function copyLog(id: string, from: LogFiles, seq: number, to: LogFiles): Promise<void> {
  const { disk, directory, log } = from
  const end = positionAfter(from, seq)
  const incomplete = logUnreadable(id, log, seq)
  if (end === undefined) throw incomplete
  if (seq === 0) return
  for (const { name, firstSeq } of listSegments(from)) {
    if (firstSeq > seq) break
    if (name !== end.segment) {
      if (!(await linkOrCopy(disk, join(directory, name), join(to.directory, name)))) throw incomplete
      continue
    }
    using file = closing(disk, disk.openToRead(join(directory, name)))
    if (!(await copyBytes(disk, file.fd, end.offset, join(to.directory, name)))) throw incomplete
  }
  await disk.syncDirectory(to.directory)
}

async function linkAll(
  disk: Disk,
  from: string,
  to: string,
  wanted: (name: string) => boolean,
): Promise<void> {
  const names = listIfExists(disk, from).filter((name) => !name.startsWith('.') && wanted(name))
  if (names.length === 0) return
  await disk.makeDirectory(to)
  // The holder may prune a snapshot and its values now: then the fork does not need them either.
  for (const name of names) {
    await linkOrCopy(disk, join(from, name), join(to, name))
    await giveWay()
  }
  await disk.syncDirectory(to)
}

/** Links a file that no longer changes, or writes and syncs a copy. False if the file is missing. */
async function linkOrCopy(disk: Disk, from: string, to: string): Promise<boolean> {
  try {
    await disk.link(from, to)
    return true
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false
  }
  const fd = ifRegular(() => disk.openToRead(from))
  if (fd === undefined) return false
  using file = closing(disk, fd)
  return await copyBytes(disk, file.fd, disk.size(file.fd), to)
}

/** Writes and syncs a copy of the first bytes of a file. False, and no copy, if the file has fewer. */
export async function copyBytes(disk: Disk, file: number, bytes: number, to: string): Promise<boolean> {
  try {
    await replaceBy(disk, to, (put) => putBytes(disk, file, bytes, put))
    await disk.syncDirectory(dirname(to))
    return true
  } catch (error) {
    if (error !== tooShort) throw error
    return false
  }
}

const tooShort = new Error('the file is shorter than it was')

async function putBytes(disk: Disk, file: number, bytes: number, put: Parameters<Fill>[0]): Promise<void> {
  for (let at = 0; at < bytes; at += pieceBytes) {
    const piece = await readFully(disk, file, at, Math.min(pieceBytes, bytes - at))
    if (piece.length < Math.min(pieceBytes, bytes - at)) throw tooShort
    await put(piece)
  }
}

/**
 * Attests both logs of a fork. Its journal may end within an append of several records, which then count. Its
 * audit log may have more lines than the journal attests, in a copy of a damaged session.
 */
const attesting = (manifest: Manifest, seq: number, audit: AuditCheckpoint): Manifest => ({
  ...manifest,
  revisions: manifest.revisions.map((revision) =>
    revision.kind === 'fork' ? { ...revision, seq, ...(audit.count > 0 && { audit }) } : revision,
  ),
})
