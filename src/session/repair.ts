import { ifPossible } from '../base/errors/if-possible.ts'
import { StintError } from '../base/errors/stint-error.ts'
import { giveWay } from '../base/process/event-loop.ts'
import { newSessionId } from '../base/text/id.ts'
import { loadVerified } from './copy-session.ts'
import { codecs, emptyLogEnd, type LogEnd, type LogName } from './log/codec.ts'
import { findBlob, readBlob } from './log/read.ts'
import { type BlobName, type CheckedHeader, type Line, linesForwards, parseLogRecord } from './log/record.ts'
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

/** A line that is as it was written. A repair keeps only these facts of each in memory. */
interface IntactLine extends CheckedHeader {
  blob: BlobName | undefined
  place: Leftover
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
  const ends = [medium.ends, ...(snapshot === undefined ? [] : [snapshot.ends])]
  const journalSeq = Math.max(attested.seq, ...ends.map(({ journal }) => journal.seq))
  const auditSeq = Math.max(attested.audit?.count ?? 0, ...ends.map(({ audit }) => audit.seq))
  const journal = withoutUnfinished(await findIntactLines(medium, 'journal'), journalSeq)
  const audit = await findIntactLines(medium, 'audit')
  const lostBlobs = new Set<string>()
  for (const { blob } of [...journal.lines, ...audit.lines])
    if (blob !== undefined && (await findBlob(medium, blob)) === undefined) lostBlobs.add(blob.sha256)
  const salvaged = ({ lines, unreadable }: IntactLines, lastSeq: number): SalvagedLog => {
    const readable = lines.filter(({ blob }) => blob === undefined || !lostBlobs.has(blob.sha256))
    const missing = gapsIn(readable, Math.max(lastSeq, lines.at(-1)?.seq ?? 0))
    return { lines: readable, unreadable, missing }
  }
  const audited = journal.lines.reduce((most, line) => Math.max(most, line.audit?.count ?? 0), auditSeq)
  return {
    journal: salvaged(journal, journalSeq),
    audit: salvaged(audit, audited),
    blobs: [...lostBlobs],
  }
}

/** The intact lines of a damaged log, in order, and the bytes in which there are none. */
type IntactLines = Pick<SalvagedLog, 'lines' | 'unreadable'>

async function findIntactLines(medium: ReadableMedium, log: LogName): Promise<IntactLines> {
  const lines = new Map<number, IntactLine>()
  const unreadable: Leftover[] = []
  const onUnreadable = ({ region: { segment }, offset, next }: Line): void => {
    const last = unreadable.at(-1)
    if (last?.segment === segment && last.offset + last.bytes === offset) last.bytes = next - last.offset
    else unreadable.push({ segment, offset, bytes: next - offset })
  }
  for await (const { line, header } of intactLines(medium, log, onUnreadable)) {
    const { blob } = parseLogRecord(line.bytes)
    const place = { segment: line.region.segment, offset: line.offset, bytes: line.end - line.start }
    if (!lines.has(header.seq)) lines.set(header.seq, { ...header, blob, place })
  }
  return { lines: [...lines.values()].sort((a, b) => a.seq - b.seq), unreadable }
}

/** How many lines are read before the event loop may run. */
const linesPerLook = 32

/** Reads the lines of a log that are as they were written. */
async function* intactLines(
  medium: ReadableMedium,
  log: LogName,
  onUnreadable: (line: Line) => void = () => {},
): AsyncGenerator<{ line: Line; header: CheckedHeader }> {
  let count = 0
  for await (const region of medium.regions(log, { from: 0, backwards: false }))
    for (const line of linesForwards(region)) {
      if (++count % linesPerLook === 0) await giveWay()
      const { header } = line
      if (header === undefined || !isAsHashed(line.bytes, log) || !isJson(line.bytes)) onUnreadable(line)
      else yield { line, header }
    }
}

const isJson = (line: Buffer): boolean => ifPossible(() => parseLogRecord(line)) !== undefined

/** Does an audit line match its own hash, whatever line came before it? */
function isAsHashed(line: Buffer, log: LogName): boolean {
  const [, previous = ''] = ending.audit.exec(line.toString('latin1', Math.max(0, line.length - 240))) ?? []
  return codecs[log].follows?.(line, previous) ?? true
}

/**
 * Drops the records at the end whose append is not complete: a crash during the append leaves them, and its
 * writer never acknowledged one of them. Those up to `attestedSeq` were acknowledged.
 */
function withoutUnfinished({ lines, unreadable }: IntactLines, attestedSeq: number): IntactLines {
  const lastWhole = lines.findLastIndex(({ seq, continued }) => seq <= attestedSeq || !continued)
  const dropped = lines.slice(lastWhole + 1).map(({ place }) => place)
  return { lines: lines.slice(0, lastWhole + 1), unreadable: [...unreadable, ...dropped] }
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
  for (const { seq, group, continued = false } of lines) {
    const first = from ?? seq
    const lostEarlier = group < first && lastMissing.has(first - 1)
    const lostNext = continued && firstMissing.has(seq + 1)
    if (lostNext || (lostEarlier && !continued)) ranges.push({ from: first, to: seq })
    from = continued && !lostNext ? first : undefined
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
  const groups = (log: LogName) => renumbered(medium, log, salvage[log].lines)
  const blobs = [...salvage.journal.lines, ...salvage.audit.lines].flatMap(({ blob }) => blob ?? [])
  const contents = {
    groups,
    async *blobs() {
      for (const name of new Map(blobs.map((blob) => [blob.sha256, blob])).values())
        yield { sha256: name.sha256, content: Buffer.from(await readBlob(medium, name)) }
    },
  }
  const facts = {
    kind: 'repair',
    original: manifestOfCopy(medium.manifest),
    ends: {
      journal: await endOf('journal', groups('journal')),
      audit: await endOf('audit', groups('audit')),
    },
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
  let end: LogEnd = emptyLogEnd(log)
  let text = ''
  for await (const { line, header } of inOrder(medium, log, lines)) {
    const seq = end.seq + 1
    const body = line.bytes.toString().replace(opening, '').replace(ending[log], '')
    const encoded = codecs[log].encode({ seq, at: header.at, group: seq, epoch: 1 }, body, end.sum)
    end = { seq, sum: encoded.sum }
    text += `${encoded.line}\n`
    if (text.length < groupBytes && seq < lines.length) continue
    yield { lines: Buffer.from(text), end, lastAt: header.at }
    text = ''
  }
}

/** Reads these lines again by their numbers. A log whose lines were moved is read more than once. */
async function* inOrder(
  medium: ReadableMedium,
  log: LogName,
  lines: readonly IntactLine[],
): AsyncGenerator<{ line: Line; header: CheckedHeader }> {
  let next = 0
  while (next < lines.length) {
    const before = next
    for await (const intact of intactLines(medium, log)) {
      if (intact.header.seq !== lines[next]?.seq) continue
      next += 1
      yield intact
    }
    if (next === before) throw new Error(`record ${lines[next]?.seq} is no longer there`)
  }
}

/** The header of a line: its number, its group, and what it says about other lines. */
const opening = /^\{"seq":\d+,"at":\d+,"group":\d+,"epoch":\d+,(?:"continued":true,)?(?:"audit":\{[^}]*\},)?/

/** What follows the body of a line: its place in the chain, and the checksum. */
const ending: Record<LogName, RegExp> = {
  journal: /,"crc":"[0-9a-f]{8}"\}$/,
  audit: /,"prev":"([0-9a-f]{64})","hash":"[0-9a-f]{64}","crc":"[0-9a-f]{8}"\}$/,
}

async function endOf(log: LogName, groups: AsyncIterable<LogGroup>): Promise<LogEnd> {
  let last: LogEnd = emptyLogEnd(log)
  for await (const { end } of groups) {
    last = end
    await giveWay()
  }
  return last
}
