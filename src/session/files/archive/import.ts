import { errorCode } from '../../../base/errors/stint-error.ts'
import type { Disk } from '../../../base/fs/disk.ts'
import { ifExists } from '../../../base/fs/exists.ts'
import { newSessionId } from '../../../base/text/id.ts'
import { checkSecretRef } from '../../../secrets/index.ts'
import { logNames } from '../../log/log-end.ts'
import { readLines } from '../../log/read.ts'
import { parseLogRecord } from '../../log/record.ts'
import { type Manifest, parseManifest } from '../../manifest.ts'
import { checkSessionId, damageFound } from '../../session-errors.ts'
import { importedManifest } from '../../transfer.ts'
import { type RecoveredSession, recoverSession } from '../recover.ts'
import {
  ensureSessions,
  filesystemId,
  type SessionDirectory,
  syncSessionsName,
} from '../session-directory.ts'
import { StagedSession } from '../staged-session.ts'
import { verifySession } from '../verify.ts'
import { largestNumber } from './archive.ts'
import { invalidArchive } from './tar.ts'
import { unpackArchive, type Unpacked } from './unpack.ts'

export interface ImportOptions {
  disk: Disk
  home: string
  /** In milliseconds since the epoch. */
  now: number
  /** The id of the new session; by default the archived one if that is free, else a new one. */
  id?: string
  chunks: AsyncIterable<Buffer>
}

export interface Imported {
  session_id: string
  /** The id in the archive. */
  from: string
  records: number
  audit_lines: number
}

/** Creates a session from an archive, whole or not at all. `ARCHIVE_INVALID`, `NAME_TAKEN`. */
export async function importSession({ disk, home, now, id, chunks }: ImportOptions): Promise<Imported> {
  if (id !== undefined) checkSessionId(id)
  const sessions = ensureSessions(home)
  syncSessionsName(disk, home)
  using staged = new StagedSession(disk, sessions)
  const unpacked = await unpackArchive(chunks, staged.directory)
  const manifest = checkManifest(unpacked)
  const recovered = checkLogs(staged.directory, manifest, unpacked)
  const { journal, audit, state } = recovered
  const ends = { journal: journal.end, audit: audit.end }
  const publishAs = (session_id: string): Imported => {
    const identity = { id: session_id, store: filesystemId, now }
    publish(staged, importedManifest({ manifest, ends, turns: state.turns }, identity), recovered, now)
    return { session_id, from: unpacked.id, records: journal.end.seq, audit_lines: audit.end.seq }
  }
  try {
    return publishAs(id ?? unpacked.id)
  } catch (error) {
    if (errorCode(error) !== 'NAME_TAKEN' || id !== undefined) throw error
    return publishAs(newSessionId())
  }
}

/** Checks every field of the manifest that stint will read. */
function checkManifest({ id, manifest: text }: Unpacked): Manifest {
  const manifest = parseManifest(text)
  if (manifest === undefined || manifest.session_id !== id) throw invalidArchive('its manifest is invalid')
  for (const { secrets } of manifest.revisions) {
    if (secrets?.every(isSecretRef) === false)
      throw invalidArchive('its manifest has something else where references to secrets should be')
  }
  return manifest
}

function isSecretRef(value: unknown): boolean {
  try {
    checkSecretRef(value)
    return true
  } catch {
    return false
  }
}

function checkLogs(directory: SessionDirectory, manifest: Manifest, { id }: Unpacked): RecoveredSession {
  const health = verifySession(directory, { manifest })
  const damage = damageFound(id, health)
  if (damage !== undefined) throw invalidArchive(damage.message)
  if (!health.ok) throw invalidArchive([...health.journal.findings, ...health.audit.findings].join('; '))
  checkRecords(directory)
  return recoverSession(directory, manifest)
}

/** Checks the contents of the records: an archive may have right checksums and invalid records. */
function checkRecords({ logs }: SessionDirectory): void {
  for (const log of logNames) {
    for (const { line, header } of readLines(logs[log])) {
      let type: unknown
      try {
        ;({ type } = parseLogRecord(line.bytes))
      } catch {
        // The type stays undefined.
      }
      if (typeof type !== 'string' || header.epoch > largestNumber)
        throw invalidArchive(`record ${header.seq} of its ${log} is invalid`)
    }
  }
}

function publish(
  staged: StagedSession,
  manifest: Manifest,
  { journal, audit, state }: RecoveredSession,
  now: number,
): void {
  const { disk, paths, snapshots } = staged.directory
  // With a snapshot, the first resume need not replay the logs.
  if (journal.end.seq > 0) snapshots.write({ journal: journal.end, audit: audit.end }, state, now)
  staged.writeManifest(manifest)
  for (const path of [paths.audit, paths.blobs]) ifExists(() => disk.syncDirectory(path))
  staged.publish(manifest)
}
