import { checkpointOn, type LogRecord, parseLogRecord } from '../../log/record.ts'
import type { LogFiles } from '../../log/log-files.ts'
import { logStart } from '../../log/log-end.ts'
import { readLines } from '../../log/read.ts'
import { scanLog, type Scanned } from '../../log/scan.ts'
import { type Disk, readFile } from '../../../base/fs/disk.ts'
import { StintError } from '../../../base/errors/stint-error.ts'
import { attestedBy, type Manifest, newManifest, parseManifest } from '../../manifest.ts'
import { emptyState, slotType } from '../../state.ts'
import type { Health } from '../../store.ts'
import { isMarkedDamaged } from '../damage-marker.ts'
import { assertFilesystemManifest, filesystemId } from '../find-session.ts'
import { type LogPositions, logsOf } from '../logs.ts'
import type { SessionPaths } from '../paths.ts'
import { sourcesIn, foldRecord } from '../recover.ts'
import { verifySession } from '../verify.ts'
import { PieceReader } from './piece-reader.ts'
import { type Restoration, restorationOf } from './restoration.ts'
import { type Salvage, salvageLog } from './salvage.ts'

/** What is wrong with a session, and what can be saved of it. */
export interface Diagnosis {
  manifest: Manifest
  /** Why the manifest had to be made anew. */
  manifestProblem?: string
  health: Health
  journal: Scanned
  audit: Scanned
  /** What is written anew; undefined for a log that is as it should be. */
  rewrite: { journal?: Salvage; audit?: Salvage }
  /** What a snapshot knows of the records that are lost. */
  restoration: Restoration
  /** There is a note that it was once found damaged. */
  marked: boolean
}

/** Reads everything a session has. Nothing is changed. */
export function diagnose(disk: Disk, paths: SessionPaths, id: string, released?: LogPositions): Diagnosis {
  const { manifest, manifestProblem } = manifestOf(disk, paths, id)
  const sources = sourcesIn(disk, paths, manifest, released)
  const { logs, snapshots, blobs } = sources
  const state = emptyState()
  const newest = snapshots.newestFirst().next().value
  const health = verifySession(sources)
  const attested = attestedBy(manifest)
  const attestedSeq = Math.max(attested.seq, newest?.ends.journal.seq ?? 0, released?.journal.seq ?? 0)
  let audited = Math.max(attested.audit?.count ?? 0, newest?.ends.audit.seq ?? 0, released?.audit.seq ?? 0)
  const journal = scanLog(logs.journal, {
    from: logStart('journal'),
    attestedSeq,
    take(line) {
      audited = Math.max(audited, checkpointOn(line)?.count ?? 0)
      foldRecord(state, parseLogRecord(line.bytes), blobs)
    },
  })
  const rewrite: Diagnosis['rewrite'] = {}
  let restoration: Restoration = { slots: [], turns: 0 }
  if (journal.state === 'damaged') {
    const saved = checked(id, salvageLog(logs.journal, journal, attestedSeq))
    rewrite.journal = saved
    const at = newest?.ends.journal.seq ?? 0
    const setAgain = new Set<string>()
    for (const record of recordsAfter(logs.journal, saved)) {
      audited = Math.max(audited, record.audit?.count ?? 0)
      if (record.seq <= at) foldRecord(state, record, blobs)
      else if (record.type === slotType && record.slot !== undefined) setAgain.add(record.slot.ext)
    }
    if (newest !== undefined && at >= saved.bad) restoration = restorationOf(state, newest.state, setAgain)
  }
  const audit = scanLog(logs.audit, { from: logStart('audit'), attestedSeq: audited })
  if (audit.state === 'damaged') rewrite.audit = checked(id, salvageLog(logs.audit, audit, audited))
  const marked = isMarkedDamaged(disk, paths)
  return { manifest, manifestProblem, health, journal, audit, rewrite, restoration, marked }
}

/** A session that has lost so much at once has lost its files, or somebody has written the numbers: that is no case for a repair. */
function checked(id: string, saved: Salvage): Salvage {
  if (saved.last - (saved.pieces.at(-1)?.seq ?? saved.from) <= mostMissing) return saved
  throw new StintError(
    'JOURNAL_CORRUPT',
    `${id} should have ${saved.last} records, and far fewer are there: this cannot be repaired`,
    { hint: 'Restore it from a backup, or import it from an archive.' },
  )
}

const mostMissing = 1_000_000

/** The intact records after the damage. There may be millions: none is kept. */
function* recordsAfter(journal: LogFiles, { pieces, bad }: Salvage): Generator<LogRecord> {
  using reader = new PieceReader(journal)
  for (const piece of pieces) if (piece.seq >= bad) yield parseLogRecord(reader.read(piece))
}

function manifestOf(
  disk: Disk,
  paths: SessionPaths,
  id: string,
): Pick<Diagnosis, 'manifest' | 'manifestProblem'> {
  const text = readFile(disk, paths.manifest)?.toString()
  const manifest = text === undefined ? undefined : parseManifest(text)
  if (manifest === undefined) {
    const manifestProblem = text === undefined ? 'the manifest is missing' : 'the manifest makes no sense'
    return { manifest: newManifest(id, filesystemId, firstAt(logsOf(disk, paths).journal)), manifestProblem }
  }
  assertFilesystemManifest(manifest)
  if (manifest.session_id === id) return { manifest }
  const manifestProblem = `the manifest is that of ${JSON.stringify(manifest.session_id.slice(0, 140))}`
  return { manifest: { ...manifest, session_id: id }, manifestProblem }
}

/** When the first record was written. */
function firstAt(journal: LogFiles): number {
  for (const { header } of readLines(journal, { to: 1 })) return header.at
  return 0
}
