import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { readLines } from '../../log/read.ts'
import { parseLogRecord } from '../../log/record.ts'
import { replaceFile } from '../../../base/fs/atomic-file.ts'
import type { Disk } from '../../../base/fs/disk.ts'
import { newSessionId } from '../../../base/text/id.ts'
import { ifExists } from '../../../base/fs/exists.ts'
import { errorCode } from '../../../base/errors/stint-error.ts'
import { checkSecretRef } from '../../../secrets/index.ts'
import { damageFound } from '../../session-errors.ts'
import { type Manifest, parseManifest } from '../../manifest.ts'
import { importedManifest } from '../../transfer.ts'
import { filesystemId } from '../find-session.ts'
import type { Logs } from '../logs.ts'
import { sessionPathsIn, type SessionPaths } from '../paths.ts'
import { recoverSession, type RecoveredSession, sourcesIn } from '../recover.ts'
import { ensureSessions, syncSessionsName } from '../sessions-directory.ts'
import { Snapshots } from '../snapshots.ts'
import { formatManifest, publishSession, stageDirectory } from '../staged-session.ts'
import { verifySession } from '../verify.ts'
import { checkSessionId } from '../../session-errors.ts'
import { largestNumber } from './archive.ts'
import { invalidArchive } from './tar.ts'
import { unpackArchive, type Unpacked } from './unpack.ts'

export interface ImportOptions {
  disk: Disk
  home: string
  now: number
  /** The id it gets; by default its own if that is free, else a new one. */
  id?: string
  chunks: AsyncIterable<Buffer>
}

export interface Imported {
  session_id: string
  from: string
  records: number
  audit_lines: number
}

/** A session from an archive. It comes into being whole, or not at all: `ARCHIVE_INVALID`, `NAME_TAKEN`. */
export async function importSession({ disk, home, now, id, chunks }: ImportOptions): Promise<Imported> {
  if (id !== undefined) checkSessionId(id)
  const sessions = ensureSessions(home)
  syncSessionsName(disk, home)
  const staged = stageDirectory(disk, sessions)
  try {
    const unpacked = await unpackArchive(disk, chunks, staged)
    const manifest = checkManifest(unpacked)
    const recovered = checkLogs(disk, staged, manifest, unpacked)
    const publish = (as: string): Imported => {
      finish(disk, staged, manifest, recovered, as, now)
      publishSession(disk, staged, sessionPathsIn(join(sessions, as)), manifest)
      const { journal, audit } = recovered
      return { session_id: as, from: unpacked.id, records: journal.end.seq, audit_lines: audit.end.seq }
    }
    try {
      return publish(id ?? unpacked.id)
    } catch (error) {
      if (errorCode(error) !== 'NAME_TAKEN' || id !== undefined) throw error
      return publish(newSessionId())
    }
  } catch (error) {
    rmSync(staged.root, { recursive: true, force: true })
    throw error
  }
}

/** Everything that we read from a manifest later on is what it should be. */
function checkManifest({ id, manifest: text }: Unpacked): Manifest {
  const manifest = parseManifest(text)
  if (manifest === undefined || manifest.session_id !== id)
    throw invalidArchive('its manifest makes no sense')
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

function checkLogs(disk: Disk, staged: SessionPaths, manifest: Manifest, { id }: Unpacked): RecoveredSession {
  const sources = sourcesIn(disk, staged, manifest)
  const health = verifySession(sources)
  const damage = damageFound(id, health)
  if (damage !== undefined) throw invalidArchive(damage.message)
  if (!health.ok) throw invalidArchive([...health.journal.findings, ...health.audit.findings].join('; '))
  checkRecords(sources.logs)
  return recoverSession(sources)
}

/** A line has the right sum because somebody computed it: what is in it may still be anything. */
function checkRecords(logs: Logs): void {
  for (const log of ['journal', 'audit'] as const) {
    for (const { line, header } of readLines(logs[log])) {
      let type: unknown
      try {
        ;({ type } = parseLogRecord(line.bytes))
      } catch {
        // Told below.
      }
      if (typeof type !== 'string' || header.epoch > largestNumber)
        throw invalidArchive(`record ${header.seq} of its ${log} makes no sense`)
    }
  }
}

/** With its new identity, and a snapshot: the first resume need not read all of it. */
function finish(
  disk: Disk,
  staged: SessionPaths,
  manifest: Manifest,
  { journal, audit, state }: RecoveredSession,
  id: string,
  now: number,
): void {
  const ends = { journal: journal.end, audit: audit.end }
  if (journal.end.seq > 0) new Snapshots(disk, staged).write(ends, state, now)
  const { turns } = state
  const next = importedManifest({ manifest, ends, turns }, { id, store: filesystemId, now })
  replaceFile(staged.manifest, formatManifest(next), disk)
  for (const path of [staged.audit, staged.blobs]) ifExists(() => disk.syncDirectory(path))
}
