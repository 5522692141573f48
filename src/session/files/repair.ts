import { StintError } from '../../base/errors/stint-error.ts'
import { giveWay } from '../../base/process/event-loop.ts'
import { emptyLogEnd, encodeLine } from '../log/codec.ts'
import type { LogEnd, LogName } from '../log/log-end.ts'
import type { LogFiles } from '../log/log-files.ts'
import type { Leftover } from '../log/scan.ts'
import { attestedBy, factsOf, type Manifest, newManifest, revised } from '../manifest.ts'
import { damageFound, sessionLocked } from '../session-errors.ts'
import type { Health } from '../store.ts'
import { findIntactLines, type IntactLine, type IntactLines, LineReader } from './intact-lines.ts'
import {
  assertFilesystemManifest,
  filesystemId,
  type SessionDirectory,
  type SessionsHome,
} from './session-directory.ts'
import { withFileErrors } from './session-file-errors.ts'
import { observeLock, type SessionLockRecord } from './session-lock.ts'
import { writeTransferToFiles } from './transfer.ts'
import { findMissing, verifySession } from './verify.ts'

/** The numbers of records in the damaged log. */
export interface RecordNumbers {
  from: number
  to: number
}

/** What a repair copies of a damaged log. */
export interface RepairedLog {
  /** How many records are copied. */
  records: number
  /** The numbers of those that are not: they are missing or changed, or their blob is. */
  missing: RecordNumbers[]
  /** Bytes that are no record, and records at the end of the journal whose append was never complete. */
  unreadable: Leftover[]
}

export interface Repair {
  /** The new session; null in a dry run. */
  session_id: string | null
  /** The damaged session, which stays as it is. */
  from: string
  /** True: the manifest is missing or invalid, and the new session has no title, tool or workspace. */
  manifest_damaged: boolean
  journal: RepairedLog
  audit: RepairedLog
  /** Copied records of the journal that were written together with one that is missing. */
  incomplete: RecordNumbers[]
  /** Blobs that are missing or changed, by hash. */
  blobs: string[]
}

/**
 * Copies every intact record of both logs of a damaged session into a new one, whole or not at all, and
 * changes nothing in the damaged one. `ARG_ERROR` if it is not damaged, `SESSION_LOCKED` while it is held.
 */
export async function repairSession(home: SessionsHome, id: string, isDryRun: boolean): Promise<Repair> {
  const directory = home.locate(id)
  const { root } = directory.paths
  return await withFileErrors(`repair session ${id}`, root, async () => {
    const { record, standing } = observeLock(root)
    if (standing === 'held') throw sessionLocked(id, record?.holder)
    const stored = directory.readManifest()
    if (stored !== undefined) assertFilesystemManifest(stored)
    const manifest = stored ?? newManifest(id, filesystemId, home.clock.now())
    const health = await verifySession(directory, { manifest, released: record?.ends })
    // A manifest of another session keeps this one from being opened.
    if (stored?.session_id === id) assertDamaged(id, health)
    const salvage = await salvageLogs(directory, manifest, record)
    const { journal, audit, blobs } = salvage
    if (journal.lines.length + audit.lines.length === 0)
      throw new StintError('JOURNAL_CORRUPT', `no record of ${id} is intact: nothing was copied`, {
        hint: 'Restore the session from a backup.',
      })
    const copy = isDryRun
      ? null
      : await copySalvage(home, directory, { ...manifest, session_id: id }, salvage)
    const report = ({ lines, missing, unreadable }: SalvagedLog): RepairedLog => ({
      records: lines.length,
      missing,
      unreadable,
    })
    return {
      session_id: copy,
      from: id,
      manifest_damaged: stored === undefined,
      journal: report(journal),
      audit: report(audit),
      incomplete: incompleteAppends(journal.lines, journal.missing),
      blobs,
    }
  })
}

function assertDamaged(id: string, health: Health): void {
  if (damageFound(id, health) !== undefined) return
  throw new StintError('ARG_ERROR', `${id} is not damaged: nothing was copied`, {
    hint: 'Resume it; `stint sessions fork` copies a session that is intact.',
  })
}

/** The lines of a log that are copied, and what is missing. */
interface SalvagedLog extends Pick<RepairedLog, 'missing' | 'unreadable'> {
  lines: IntactLine[]
}

interface Salvage {
  journal: SalvagedLog
  audit: SalvagedLog
  /** Those that are missing or changed, by hash. */
  blobs: string[]
}

/** Reads both logs. Manifest, lock, snapshots and the journal attest records that may be missing. */
async function salvageLogs(
  { logs, blobs, snapshots }: SessionDirectory,
  manifest: Manifest,
  lock: SessionLockRecord | undefined,
): Promise<Salvage> {
  const attested = attestedBy(manifest)
  let journalSeq = Math.max(attested.seq, lock?.ends?.journal.seq ?? 0)
  let auditSeq = Math.max(attested.audit?.count ?? 0, lock?.ends?.audit.seq ?? 0)
  for (const { ends } of snapshots.newestFirst()) {
    journalSeq = Math.max(journalSeq, ends.journal.seq)
    auditSeq = Math.max(auditSeq, ends.audit.seq)
  }
  const journal = withoutUnfinished(await findIntactLines(logs.journal), journalSeq)
  const audit = await findIntactLines(logs.audit)
  const missing: string[] = []
  for (const { blob } of [...journal.lines, ...audit.lines])
    if (blob !== undefined) await findMissing(blobs, blob, missing)
  const lost = new Set(missing)
  const salvaged = ({ lines, unreadable }: IntactLines, lastSeq: number): SalvagedLog => {
    const kept = lines.filter(({ blob }) => blob === undefined || !lost.has(blob.sha256))
    return { lines: kept, unreadable, missing: gapsIn(kept, Math.max(lastSeq, lines.at(-1)?.seq ?? 0)) }
  }
  return {
    journal: salvaged(journal, journalSeq),
    audit: salvaged(audit, Math.max(auditSeq, journal.audited)),
    blobs: [...lost],
  }
}

/**
 * Drops the records at the end whose append is not complete: a crash during the append leaves them, and its
 * writer never acknowledged one of them. Those up to `attestedSeq` were acknowledged.
 */
function withoutUnfinished(journal: IntactLines, attestedSeq: number): IntactLines {
  const lastWhole = journal.lines.findLastIndex(({ seq, isContinued }) => seq <= attestedSeq || !isContinued)
  const dropped = journal.lines.slice(lastWhole + 1)
  const bytes = dropped.map(({ segment, offset, bytes: length }) => ({ segment, offset, bytes: length }))
  return {
    ...journal,
    lines: journal.lines.slice(0, lastWhole + 1),
    unreadable: [...journal.unreadable, ...bytes],
  }
}

/**
 * The copied records of appends that lost a record. No field names the append of a record that follows a
 * missing one, so this counts it if both were synced together.
 */
function incompleteAppends(lines: readonly IntactLine[], missing: readonly RecordNumbers[]): RecordNumbers[] {
  const firstMissing = new Set(missing.map(({ from }) => from))
  const lastMissing = new Set(missing.map(({ to }) => to))
  const ranges: RecordNumbers[] = []
  let from: number | undefined
  for (const { seq, group, isContinued } of lines) {
    const first = from ?? seq
    const lostEarlier = group < first && lastMissing.has(first - 1)
    const lostNext = isContinued && firstMissing.has(seq + 1)
    if (lostNext || (lostEarlier && !isContinued)) ranges.push({ from: first, to: seq })
    from = isContinued && !lostNext ? first : undefined
  }
  return ranges
}

/** The numbers up to `last` that none of these lines has. */
function gapsIn(lines: readonly IntactLine[], last: number): RecordNumbers[] {
  const gaps: RecordNumbers[] = []
  let next = 1
  for (const { seq } of [...lines, { seq: last + 1 }]) {
    if (seq > next) gaps.push({ from: next, to: seq - 1 })
    next = seq + 1
  }
  return gaps
}

/** Creates a session of these lines, by way of a staged one that is verified before it is published. */
async function copySalvage(
  home: SessionsHome,
  { logs, blobs }: SessionDirectory,
  manifest: Manifest,
  salvage: Salvage,
): Promise<string> {
  const linesOf = (log: LogName) => renumbered(logs[log], salvage[log].lines)
  const ends = {
    journal: await endOf('journal', linesOf('journal')),
    audit: await endOf('audit', linesOf('audit')),
  }
  return await writeTransferToFiles(home, {
    kind: 'repair',
    manifest: manifestOfCopy(manifest),
    ends,
    turns: salvage.journal.lines.filter(({ isTurn }) => isTurn).length,
    async *lines(log) {
      for await (const { line } of linesOf(log)) yield line
    },
    blob: (name) => blobs.get(name),
  })
}

/** The facts of the damaged session without its revisions: those attest records that the copy lacks. */
function manifestOfCopy(manifest: Manifest): Manifest {
  const { session_id, created_at, labels } = manifest
  const createdAt = Date.parse(created_at)
  const made = { ...newManifest(session_id, filesystemId, createdAt), ...(labels && { labels }) }
  return revised(made, createdAt, { kind: 'create', ...factsOf(manifest) })
}

/** Encodes intact lines again: numbered from 1 on, each chained to the one before it, and one to a group. */
async function* renumbered(
  files: LogFiles,
  lines: readonly IntactLine[],
): AsyncGenerator<{ line: string; sum: string }> {
  const { log, codec } = files
  using reader = new LineReader(files)
  let sum = codec.genesis
  for (const [index, line] of lines.entries()) {
    const seq = index + 1
    const body = (await reader.read(line)).replace(opening, '').replace(ending[log], '')
    const made = encodeLine(codec, { seq, at: line.at, group: seq, epoch: 1 }, body, sum)
    sum = made.sum
    yield made
  }
}

const opening = /^\{"seq":\d+,"at":\d+,"group":\d+,"epoch":\d+,/

/** What follows the body of a line: marks of its group, its place in the chain, and the checksum. */
const ending: Record<LogName, RegExp> = {
  journal: /(?:,"continued":true)?(?:,"audit":\{"count":\d+,"head":"[0-9a-f]{64}"\})?,"crc":"[0-9a-f]{8}"\}$/,
  audit: /,"prev":"[0-9a-f]{64}","hash":"[0-9a-f]{64}","crc":"[0-9a-f]{8}"\}$/,
}

async function endOf(log: LogName, lines: AsyncIterable<{ sum: string }>): Promise<LogEnd> {
  let end = emptyLogEnd(log)
  for await (const { sum } of lines) {
    end = { seq: end.seq + 1, sum }
    await giveWay()
  }
  return end
}
