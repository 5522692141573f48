import { ifPossible } from '../base/errors/if-possible.ts'
import { StintError } from '../base/errors/stint-error.ts'
import { giveWay } from '../base/process/event-loop.ts'
import { newSessionId } from '../base/text/id.ts'
import { loadVerified } from './copy-session.ts'
import { codecs, emptyLogEnd, type LogEnd, type LogEnds, type LogName } from './log/codec.ts'
import { findBlob, readBlob } from './log/read.ts'
import { type BlobName, type Line, linesForwards, type LogRecord, parseLogRecord } from './log/record.ts'
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
  /** True: the manifest is missing or invalid, and the new session has none of its facts. */
  manifest_damaged: boolean
  journal: RepairedLog
  audit: RepairedLog
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
 * damaged, `SESSION_LOCKED` while it is held. It reads the logs twice: to know what is intact, and to copy
 * it.
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
  const attested = await attestedEnds(medium)
  const journal = await salvage(medium, 'journal', attested.journal)
  const audit = await salvage(medium, 'audit', Math.max(attested.audit, journal.audited))
  if (journal.records + audit.records === 0)
    throw new StintError('JOURNAL_CORRUPT', `no record of ${id} is intact: nothing was copied`, {
      hint: 'Restore the session from a backup.',
    })
  const report = ({ records, missing, unreadable }: Salvage): RepairedLog => ({
    records,
    missing,
    unreadable,
  })
  return {
    session_id: isDryRun ? null : await copySalvage(target, medium, { journal, audit }, now),
    from: id,
    manifest_damaged: isManifestDamaged,
    journal: report(journal),
    audit: report(audit),
    blobs: [...new Set([...journal.lostBlobs, ...audit.lostBlobs])],
  }
}

function assertDamaged(id: string, health: Health): void {
  if (damageFound(id, health) !== undefined) return
  throw new StintError('ARG_ERROR', `${id} is not damaged: nothing was copied`, {
    hint: 'Resume it; `stint sessions fork` copies a session that is intact.',
  })
}

/** The last record of each log that manifest, medium and snapshot attest: it may be missing. */
async function attestedEnds(medium: ReadableMedium): Promise<Record<LogName, number>> {
  const { seq, audit } = attestedBy(medium.manifest)
  const ends = [medium.ends, (await readSnapshotHead(medium))?.ends ?? medium.ends]
  return {
    journal: Math.max(seq, ...ends.map(({ journal }) => journal.seq)),
    audit: Math.max(audit?.count ?? 0, ...ends.map((end) => end.audit.seq)),
  }
}

/** What a look through a damaged log has found. */
interface Salvage extends RepairedLog {
  /** The last record that is known to have been there. */
  attested: number
  /** Where the copy ends. */
  end: LogEnd
  /** How far the audit log had come, as the intact records of the journal attest. */
  audited: number
  blobs: Map<string, BlobName>
  lostBlobs: Set<string>
}

const newSalvage = (log: LogName, attested: number): Salvage => ({
  attested,
  records: 0,
  missing: [],
  unreadable: [],
  end: emptyLogEnd(log),
  audited: 0,
  blobs: new Map(),
  lostBlobs: new Set(),
})

/** Looks through a log as the copy does, and keeps none of its records in memory. */
async function salvage(medium: ReadableMedium, log: LogName, attested: number): Promise<Salvage> {
  const found = newSalvage(log, attested)
  for await (const _ of copiedGroups(medium, log, found)) await giveWay()
  return found
}

/** The most bytes that one group of a copy has. */
const groupBytes = 256 << 10

/**
 * Encodes the intact records of a log again: numbered from 1 on, each chained to the one before it, and one
 * to a group. Notes in `found` what it meets.
 */
async function* copiedGroups(medium: ReadableMedium, log: LogName, found: Salvage): AsyncGenerator<LogGroup> {
  let text = ''
  let lastAt = 0
  for await (const { record, body } of wholeAppends(medium, log, found)) {
    const seq = (found.records += 1)
    lastAt = record.at
    const header = { seq, at: lastAt, group: seq, epoch: 1 }
    const { line, sum } = codecs[log].encode(header, body, found.end.sum)
    found.end = { seq, sum }
    text += `${line}\n`
    if (text.length < groupBytes) continue
    yield { lines: Buffer.from(text), end: found.end, lastAt }
    text = ''
  }
  if (text !== '') yield { lines: Buffer.from(text), end: found.end, lastAt }
}

/** A line that is as it was written. */
interface IntactLine {
  record: LogRecord
  /** The part of the line that does not depend on its place. */
  body: string
  place: Leftover
}

/**
 * The intact records whose appends are complete. A crash during an append leaves some of its records at the
 * end of the log; its writer never acknowledged one of them, unless they are attested.
 */
async function* wholeAppends(
  medium: ReadableMedium,
  log: LogName,
  found: Salvage,
): AsyncGenerator<IntactLine> {
  let unfinished: IntactLine[] = []
  let next = 1
  for await (const line of readableRecords(medium, log, found)) {
    const { seq, continued } = line.record
    if (seq > next) {
      found.missing.push({ from: next, to: seq - 1 })
      yield* unfinished
      unfinished = []
    }
    next = seq + 1
    unfinished.push(line)
    if (continued && seq > found.attested) continue
    yield* unfinished
    unfinished = []
  }
  found.unreadable.push(...unfinished.map(({ place }) => place))
  next -= unfinished.length
  if (next <= found.attested) found.missing.push({ from: next, to: found.attested })
}

/** How many lines are read before the event loop may run. */
const linesPerLook = 32

/** The intact lines in the order of their numbers, without those whose blobs are lost. */
async function* readableRecords(
  medium: ReadableMedium,
  log: LogName,
  found: Salvage,
): AsyncGenerator<IntactLine> {
  let [count, last] = [0, 0]
  for await (const region of medium.regions(log, { from: 0, backwards: false }))
    for (const line of linesForwards(region)) {
      if (++count % linesPerLook === 0) await giveWay()
      const intact = intactLine(line, log)
      // A line that comes a second time was copied already, or is a part of the data of another record.
      if (intact === undefined || intact.record.seq <= last) {
        noteUnreadable(found, line)
        continue
      }
      const { seq, blob, audit } = intact.record
      last = seq
      found.audited = Math.max(found.audited, audit?.count ?? 0)
      if (blob === undefined || (await isBlobThere(medium, blob, found))) yield intact
    }
}

function intactLine(line: Line, log: LogName): IntactLine | undefined {
  const { bytes } = line
  if (line.header === undefined || !isAsHashed(bytes, log)) return undefined
  const record = ifPossible(() => parseLogRecord(bytes))
  if (record === undefined) return undefined
  const body = bytes.toString().replace(opening, '').replace(ending[log], '')
  const place = { segment: line.region.segment, offset: line.offset, bytes: line.end - line.start }
  return { record, body, place }
}

/** Does an audit line match its own hash, whatever line came before it? */
function isAsHashed(line: Buffer, log: LogName): boolean {
  const [, previous = ''] = ending.audit.exec(line.toString('latin1', Math.max(0, line.length - 240))) ?? []
  return codecs[log].follows?.(line, previous) ?? true
}

/** The header of a line: its number, its group, and what it says about other lines. */
const opening = /^\{"seq":\d+,"at":\d+,"group":\d+,"epoch":\d+,(?:"continued":true,)?(?:"audit":\{[^}]*\},)?/

/** What follows the body of a line: its place in the chain, and the checksum. */
const ending: Record<LogName, RegExp> = {
  journal: /,"crc":"[0-9a-f]{8}"\}$/,
  audit: /,"prev":"([0-9a-f]{64})","hash":"[0-9a-f]{64}","crc":"[0-9a-f]{8}"\}$/,
}

function noteUnreadable({ unreadable }: Salvage, { region: { segment }, offset, next }: Line): void {
  const last = unreadable.at(-1)
  if (last?.segment === segment && last.offset + last.bytes === offset) last.bytes = next - last.offset
  else unreadable.push({ segment, offset, bytes: next - offset })
}

async function isBlobThere(
  medium: ReadableMedium,
  blob: BlobName,
  { blobs, lostBlobs }: Salvage,
): Promise<boolean> {
  const { sha256 } = blob
  if (!blobs.has(sha256) && !lostBlobs.has(sha256)) {
    if ((await findBlob(medium, blob)) === undefined) lostBlobs.add(sha256)
    else blobs.set(sha256, blob)
  }
  return blobs.has(sha256)
}

/** Creates a session of what is intact. */
async function copySalvage(
  target: Medium,
  medium: ReadableMedium,
  found: Record<LogName, Salvage>,
  now: number,
): Promise<string> {
  const id = newSessionId()
  const contents = {
    groups: (log: LogName) => copiedGroups(medium, log, newSalvage(log, found[log].attested)),
    async *blobs() {
      for (const name of new Map([...found.journal.blobs, ...found.audit.blobs]).values())
        yield { sha256: name.sha256, content: Buffer.from(await readBlob(medium, name)) }
    },
  }
  const ends: LogEnds = { journal: found.journal.end, audit: found.audit.end }
  await loadVerified(
    target,
    id,
    contents,
    { kind: 'repair', original: factsOnly(medium.manifest), ends },
    now,
  )
  return id
}

/** The facts of the damaged session without its revisions: those attest records that the copy lacks. */
function factsOnly(manifest: Manifest): Manifest {
  const { session_id, store, created_at, labels } = manifest
  const createdAt = Date.parse(created_at)
  const made = { ...newManifest(session_id, store, createdAt), ...(labels && { labels }) }
  return revised(made, createdAt, { kind: 'create', ...factsOf(manifest) })
}
