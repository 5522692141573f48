import { basename, join } from 'node:path'
import type { AuditCheckpoint } from '../log/record.ts'
import { positionAfter, readBackwards } from '../log/read.ts'
import { type LogFiles, listSegments } from '../log/log-files.ts'
import { replaceFile } from '../../base/fs/atomic-file.ts'
import { type Disk, listIfExists, readFully } from '../../base/fs/disk.ts'
import { logUnreadable } from '../session-errors.ts'
import type { Manifest } from '../manifest.ts'
import { linkOrCopy } from './link-or-copy.ts'
import { logsOf } from './logs.ts'
import type { SessionPaths } from './paths.ts'
import type { RecoveredSession } from './recover.ts'
import { Snapshots } from './snapshots.ts'

export interface ForkSource {
  paths: SessionPaths
  /** Where the logs end, as far as they are whole. */
  recovered: RecoveredSession
}

/**
 * Gives a staged session what another has up to a record. Files that will not change any more are linked, or copied where that fails; of the
 * segment in which it ends, the part that counts is copied. Safe while the other is written to. Gives where its audit log ends.
 */
export function forkFiles(
  disk: Disk,
  { paths: from, recovered }: ForkSource,
  seq: number,
  to: SessionPaths,
): AuditCheckpoint {
  const [source, target] = [logsOf(disk, from), logsOf(disk, to)]
  const last = recovered.journal.end.seq
  const id = basename(from.root)
  copyLog(id, source.journal, seq, target.journal)
  const audited = seq === last ? recovered.audit.end.seq : auditedAt(source.journal, seq)
  if (audited > 0) {
    disk.makeDirectory(to.audit)
    copyLog(id, source.audit, audited, target.audit)
  }
  for (const name of ['blobs', 'state'] as const) linkAll(disk, from[name], to[name], () => true)
  // One that tells of more than the fork has would attest what is not there.
  const fits = new Set(
    [...new Snapshots(disk, from).newestFirst()]
      .filter(({ ends }) => ends.journal.seq <= seq && ends.audit.seq <= audited)
      .map((snapshot) => `${snapshot.seq}.json`),
  )
  linkAll(disk, from.snapshots, to.snapshots, (name) => fits.has(name))
  disk.syncDirectory(to.root)
  return { count: audited, head: positionAfter(target.audit, audited)?.tail ?? '' }
}

/** How far the audit log had come when a record was written. */
function auditedAt(journal: LogFiles, seq: number): number {
  for (const { audit } of readBackwards(journal, seq + 1)) if (audit !== undefined) return audit.count
  return 0
}

function copyLog(id: string, from: LogFiles, seq: number, to: LogFiles): void {
  const { disk, directory, log } = from
  const end = positionAfter(from, seq)
  const incomplete = logUnreadable(id, log, seq)
  if (end === undefined) throw incomplete
  if (seq === 0) return
  for (const { name, firstSeq } of listSegments(from)) {
    if (firstSeq > seq) break
    if (name !== end.segment) {
      if (!linkOrCopy(disk, join(directory, name), join(to.directory, name))) throw incomplete
      continue
    }
    const file = disk.openToRead(join(directory, name))
    try {
      replaceFile(join(to.directory, name), readFully(disk, file, 0, end.offset), disk)
    } finally {
      disk.close(file)
    }
  }
  disk.syncDirectory(to.directory)
}

function linkAll(disk: Disk, from: string, to: string, wanted: (name: string) => boolean): void {
  const names = listIfExists(disk, from).filter((name) => !name.startsWith('.') && wanted(name))
  if (names.length === 0) return
  disk.makeDirectory(to)
  // A snapshot, and the values it names, may be pruned in this moment: then nothing needs them.
  for (const name of names) linkOrCopy(disk, join(from, name), join(to, name))
  disk.syncDirectory(to)
}

/** A fork of a repaired session may have an audit log that its journal, which is older, does not know: what it began with counts. */
export const attesting = (manifest: Manifest, audit: AuditCheckpoint): Manifest => ({
  ...manifest,
  revisions: manifest.revisions.map((revision) =>
    revision.kind === 'fork' && audit.count > 0 ? { ...revision, audit } : revision,
  ),
})
