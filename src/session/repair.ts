import { StintError } from '../base/errors/stint-error.ts'
import { giveWay } from '../base/process/event-loop.ts'
import { newSessionId } from '../base/text/id.ts'
import { loadVerified } from './copy-session.ts'
import { findBlob, readBlob } from './log/blobs.ts'
import { codecs, emptyLogEnd, encodeLine } from './log/codec.ts'
import { findIntactLines, type IntactLine, type IntactLines, LineReader } from './log/intact-lines.ts'
import type { LogEnd, LogName } from './log/log-end.ts'
import { readSnapshotHead } from './log/snapshot.ts'
import { verifyLogs } from './log/verify.ts'
import { attestedBy, factsOf, type Manifest, newManifest, revised } from './manifest.ts'
import type { Leftover, LogGroup, Medium, ReadableMedium } from './medium.ts'
import { damageFound, sessionLocked } from './session-errors.ts'
import type { Health } from './store.ts'

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

/** A damaged session. Its manifest may be damaged, too: then it has a new one in its place. */
export interface DamagedSession {
  medium: ReadableMedium
  isManifestDamaged: boolean
}

/**
 * Copies every intact record of both logs of a damaged session into a new one, whole or not at all, and
 * changes nothing in the damaged one; a dry run only says what it would copy. `ARG_ERROR` if it is not
 * damaged, `SESSION_LOCKED` while it is held.
 */
export async function repairSession(
  target: Medium,
  { medium, isManifestDamaged }: DamagedSession,
  { isDryRun, now }: { isDryRun: boolean; now: number },
): Promise<Repair> {
  const { session_id: id } = medium.manifest
  const { state, holder } = medium.summary
  if (state === 'active' || state === 'locked') throw sessionLocked(id, holder)
  const health = await verifyLogs(medium)
  if (!isManifestDamaged) assertDamaged(id, health)
  const salvage = await salvageLogs(medium)
  const { journal, audit, blobs } = salvage
  if (journal.lines.length + audit.lines.length === 0)
    throw new StintError('JOURNAL_CORRUPT', `no record of ${id} is intact: nothing was copied`, {
      hint: 'Restore the session from a backup.',
    })
  const report = ({ lines, missing, unreadable }: SalvagedLog): RepairedLog => ({
    records: lines.length,
    missing,
    unreadable,
  })
  return {
    session_id: isDryRun ? null : await copySalvage(target, medium, salvage, now),
    from: id,
    manifest_damaged: isManifestDamaged,
    journal: report(journal),
    audit: report(audit),
    incomplete: incompleteAppends(journal.lines, journal.missing),
    blobs,
  }
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

/** Reads both logs. Manifest, medium, snapshot and journal attest records that may be missing. */
async function salvageLogs(medium: ReadableMedium): Promise<Salvage> {
  const attested = attestedBy(medium.manifest)
  const snapshot = await readSnapshotHead(medium)
  const known = [medium.ends, ...(snapshot === undefined ? [] : [snapshot.ends])]
  const journalSeq = Math.max(attested.seq, ...known.map(({ journal }) => journal.seq))
  const auditSeq = Math.max(attested.audit?.count ?? 0, ...known.map(({ audit }) => audit.seq))
  const journal = withoutUnfinished(await findIntactLines(medium, 'journal'), journalSeq)
  const audit = await findIntactLines(medium, 'audit')
  const missing: string[] = []
  for (const { blob } of [...journal.lines, ...audit.lines])
    if (blob !== undefined && (await findBlob(medium, blob)) === undefined) missing.push(blob.sha256)
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

/** Creates a session of these lines. */
async function copySalvage(
  target: Medium,
  medium: ReadableMedium,
  salvage: Salvage,
  now: number,
): Promise<string> {
  const id = newSessionId()
  const groupsOf = (log: LogName) => renumbered(medium, log, salvage[log].lines)
  const blobs = [...salvage.journal.lines, ...salvage.audit.lines].flatMap(({ blob }) => blob ?? [])
  const contents = {
    groups: groupsOf,
    async *blobs() {
      for (const name of new Map(blobs.map((each) => [each.sha256, each])).values())
        yield { sha256: name.sha256, content: Buffer.from(await readBlob(medium, name)) }
    },
  }
  const facts = {
    kind: 'repair',
    original: manifestOfCopy(medium.manifest),
    ends: {
      journal: await endOf('journal', groupsOf('journal')),
      audit: await endOf('audit', groupsOf('audit')),
    },
    turns: salvage.journal.lines.filter(({ isTurn }) => isTurn).length,
  } as const
  await loadVerified(target, id, contents, facts, now)
  return id
}

/** The facts of the damaged session without its revisions: those attest records that the copy lacks. */
function manifestOfCopy(manifest: Manifest): Manifest {
  const { session_id, store, created_at, labels } = manifest
  const createdAt = Date.parse(created_at)
  const made = { ...newManifest(session_id, store, createdAt), ...(labels && { labels }) }
  return revised(made, createdAt, { kind: 'create', ...factsOf(manifest) })
}

/** The most bytes that one group of a copy has. */
const groupBytes = 256 << 10

/** Encodes intact lines again: numbered from 1 on, each chained to the one before it, and one to a group. */
async function* renumbered(
  medium: ReadableMedium,
  log: LogName,
  lines: readonly IntactLine[],
): AsyncGenerator<LogGroup> {
  const codec = codecs[log]
  const reader = new LineReader(medium, log)
  let end: LogEnd = emptyLogEnd(log)
  let [text, turns] = ['', 0]
  for (const [index, line] of lines.entries()) {
    const seq = index + 1
    const body = (await reader.read(line)).replace(opening, '').replace(ending[log], '')
    const made = encodeLine(codec, { seq, at: line.at, group: seq, epoch: 1 }, body, end.sum)
    end = { seq, sum: made.sum }
    text += `${made.line}\n`
    if (line.isTurn) turns += 1
    if (text.length < groupBytes && seq < lines.length) continue
    yield { lines: Buffer.from(text), end, lastAt: line.at, turns }
    ;[text, turns] = ['', 0]
  }
}

const opening = /^\{"seq":\d+,"at":\d+,"group":\d+,"epoch":\d+,/

/** What follows the body of a line: marks of its group, its place in the chain, and the checksum. */
const ending: Record<LogName, RegExp> = {
  journal: /(?:,"continued":true)?(?:,"audit":\{"count":\d+,"head":"[0-9a-f]{64}"\})?,"crc":"[0-9a-f]{8}"\}$/,
  audit: /,"prev":"[0-9a-f]{64}","hash":"[0-9a-f]{64}","crc":"[0-9a-f]{8}"\}$/,
}

async function endOf(log: LogName, groups: AsyncIterable<LogGroup>): Promise<LogEnd> {
  let last: LogEnd = emptyLogEnd(log)
  for await (const { end } of groups) {
    last = end
    await giveWay()
  }
  return last
}
