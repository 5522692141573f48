import { checkpointOn, type LogRecord, parseLogRecord } from '../../log/record.ts'
import type { LogFiles } from '../../log/log-files.ts'
import type { DiskSteps } from '../../../base/fs/disk-steps.ts'
import type { Blobs } from '../../log/blobs.ts'
import { encodeBody, encodeEntry, maxInlineBytes } from '../../log/codec.ts'
import { type LogPositions, logStart, type Position } from '../../log/log-end.ts'
import { readLines } from '../../log/read.ts'
import { type Scanned, scanSteps } from '../../log/scan.ts'
import type { Snapshot } from '../../log/snapshot-codec.ts'
import { readFile } from '../../../base/fs/disk.ts'
import { StintError } from '../../../base/errors/stint-error.ts'
import { attestedBy, type Manifest, newManifest, parseManifest } from '../../manifest.ts'
import { emptyState, type FoldedState, slotType, turnType } from '../../state.ts'
import type { Health } from '../../store.ts'
import { foldSteps } from '../recover.ts'
import { assertFilesystemManifest, filesystemId, type SessionDirectory } from '../session-directory.ts'
import { verifyInSteps } from '../verify.ts'
import { IntactLineReader, type Salvage, salvageLog } from './salvage.ts'

/** The damage of a session, and what can be saved. */
export interface Diagnosis {
  manifest: Manifest
  /** Why the manifest must be replaced. */
  manifestProblem?: string
  health: Health
  journal: Scanned
  audit: Scanned
  /** The logs that must be rewritten; undefined for a log that is intact or torn. */
  rewrite: { journal?: Salvage; audit?: Salvage }
  /** What a snapshot tells about the lost records. */
  restoration: Restoration
  /** Damage was noted, perhaps earlier. */
  isDamageNoted: boolean
}

/** State that lost records had set, known from a snapshot that was taken after them. */
export interface Restoration {
  slots: { ext: string; version: string; json: string }[]
  /** How many of the lost records were ends of turns. */
  turns: number
}

/** Reads all of a session, in steps, and changes nothing. */
export function* diagnose(
  directory: SessionDirectory,
  id: string,
  released?: LogPositions,
): Generator<void, Diagnosis> {
  const { manifest, manifestProblem } = manifestOf(directory, id)
  const { logs, snapshots, blobs } = directory
  const state = emptyState()
  const newest = yield* newestSnapshot(snapshots)
  const health = yield* verifyInSteps(directory, { manifest, released })
  const attested = attestedBy(manifest)
  const attestedSeq = Math.max(attested.seq, newest?.ends.journal.seq ?? 0, released?.journal.seq ?? 0)
  let audited = Math.max(attested.audit?.count ?? 0, newest?.ends.audit.seq ?? 0, released?.audit.seq ?? 0)
  const journal = yield* scanSteps(logs.journal, {
    from: logStart('journal'),
    attestedSeq,
    onRecord(line) {
      audited = Math.max(audited, checkpointOn(line)?.count ?? 0)
      return foldSteps(state, parseLogRecord(line.bytes), blobs)
    },
  })
  const rewrite: Diagnosis['rewrite'] = {}
  let restoration: Restoration = { slots: [], turns: 0 }
  if (journal.state === 'damaged') {
    const saved = checked(id, yield* salvageLog(logs.journal, journal, attestedSeq))
    rewrite.journal = saved
    const at = newest?.ends.journal.seq ?? 0
    const setAgain = new Set<string>()
    for (const record of recordsAfter(logs.journal, saved)) {
      audited = Math.max(audited, record.audit?.count ?? 0)
      yield
      if (record.seq <= at) yield* foldSteps(state, record, blobs) ?? []
      else if (record.type === slotType && record.slot !== undefined) setAgain.add(record.slot.ext)
    }
    if (newest !== undefined && at >= saved.bad) restoration = restorationOf(state, newest.state, setAgain)
  }
  const audit = yield* scanSteps(logs.audit, { from: logStart('audit'), attestedSeq: audited })
  if (audit.state === 'damaged') rewrite.audit = checked(id, yield* salvageLog(logs.audit, audit, audited))
  const isDamageNoted = directory.isDamageNoted()
  return { manifest, manifestProblem, health, journal, audit, rewrite, restoration, isDamageNoted }
}

function* newestSnapshot(
  snapshots: SessionDirectory['snapshots'],
): Generator<void, Snapshot<Position> | undefined> {
  for (const stored of snapshots.newestFirst()) {
    const snapshot = yield* snapshots.restore(stored)
    if (snapshot !== undefined) return snapshot
  }
  return undefined
}

/** A session that lacks this many records has lost whole files, or has forged numbers: it is past repair. */
const maxMissing = 1_000_000

function checked(id: string, saved: Salvage): Salvage {
  if (saved.last - (saved.lines.at(-1)?.seq ?? saved.from) <= maxMissing) return saved
  throw new StintError(
    'JOURNAL_CORRUPT',
    `${id} should have ${saved.last} records, and far fewer are there: this cannot be repaired`,
    { hint: 'Restore it from a backup, or import it from an archive.' },
  )
}

/** Reads the intact records after the damage. There may be millions, so none is kept in memory. */
function* recordsAfter(journal: LogFiles, { lines, bad }: Salvage): Generator<LogRecord> {
  using reader = new IntactLineReader(journal)
  for (const line of lines) if (line.seq >= bad) yield parseLogRecord(reader.read(line))
}

function manifestOf(
  { disk, paths, logs }: SessionDirectory,
  id: string,
): Pick<Diagnosis, 'manifest' | 'manifestProblem'> {
  const text = readFile(disk, paths.manifest)?.toString()
  const manifest = text === undefined ? undefined : parseManifest(text)
  if (manifest === undefined) {
    const manifestProblem = text === undefined ? 'the manifest is missing' : 'the manifest is invalid'
    return { manifest: newManifest(id, filesystemId, firstAt(logs.journal)), manifestProblem }
  }
  assertFilesystemManifest(manifest)
  if (manifest.session_id === id) return { manifest }
  const manifestProblem = `the manifest is that of ${JSON.stringify(manifest.session_id.slice(0, 140))}`
  return { manifest: { ...manifest, session_id: id }, manifestProblem }
}

/** When the first record was written, in milliseconds since the epoch. */
function firstAt(journal: LogFiles): number {
  for (const { header } of readLines(journal, { to: 1, attested: 1 })) return header.at
  return 0
}

/**
 * Compares the state that the remaining records give with a snapshot of the same position. Slots that later
 * records set again need no restoring.
 */
function restorationOf(left: FoldedState, snapshot: FoldedState, setAgain: ReadonlySet<string>): Restoration {
  const slots: Restoration['slots'] = []
  for (const [ext, { version, value, broken }] of snapshot.slots) {
    if (broken !== undefined || setAgain.has(ext)) continue
    const json = JSON.stringify(value) ?? 'null'
    const now = left.slots.get(ext)
    if (now?.version !== version || JSON.stringify(now.value) !== json) slots.push({ ext, version, json })
  }
  return { slots, turns: Math.max(0, snapshot.turns - left.turns) }
}

/** The records that restore the state. They come after all others, so that a replay gives that state. */
export function* restoringBodies({ slots, turns }: Restoration, blobs: Blobs): DiskSteps<string[]> {
  const bodies = Array.from({ length: turns }, () => encodeBody(turnType, '{"restored":true}'))
  for (const { ext, version, json } of slots) {
    const blob = json.length > maxInlineBytes ? yield* blobs.put(json) : undefined
    bodies.push(encodeEntry({ type: slotType, json, slot: { ext, version } }, blob))
  }
  return bodies
}
