import { StintError } from '../base/errors/stint-error.ts'
import { ifPossible } from '../base/errors/if-possible.ts'
import { newSessionId } from '../base/text/id.ts'
import { giveWay } from '../base/process/event-loop.ts'
import {
  attestEnds,
  codecs,
  emptyLogEnd,
  isSameEnd,
  type LogEnd,
  type LogEnds,
  type LogName,
} from './log/codec.ts'
import { readBlob } from './log/read.ts'
import { type BlobName, blobOf, type CheckedHeader, type Line, linesForwards } from './log/record.ts'
import { recoverLogs } from './log/recover.ts'
import { verifyLogs } from './log/verify.ts'
import { type Manifest, revised } from './manifest.ts'
import type { LogGroup, Medium, ReadableMedium, SessionContents } from './medium.ts'
import { assertIntact, checkSessionId, logUnreadable, sessionLocked } from './session-errors.ts'
import { keyId } from './create-manifest.ts'

/**
 * Copies a session up to record `at` (all of it if undefined) into a new one that is not held. It takes no
 * lock: what it checks and copies never changes, even while a writer appends.
 */
export async function forkSession(
  medium: Medium,
  from: string,
  at: number | undefined,
  manifest: Manifest,
): Promise<void> {
  const source = await medium.read(from)
  const recovered = await recoverLogs(source)
  const seq = forkPoint(at, recovered.journal.end.seq)
  const journal = await readPart(source, 'journal', seq)
  // Audit lines after the last checkpoint belong to the fork if it has the whole journal.
  const isWhole = seq === recovered.journal.end.seq && recovered.journal.state !== 'damaged'
  const last = Math.max(recovered.audit.end.seq, source.ends.audit.seq)
  const audit = await readPart(source, 'audit', Math.max(journal.audited, isWhole ? last : 0))
  const ends = { journal: journal.end, audit: audit.end }
  await medium.load(attesting(manifest, ends), contentsOf(source, { journal, audit }))
}

/** The last record of a fork: `at`, or the `last` intact one. `ARG_ERROR` if there is no such record. */
function forkPoint(at: number | undefined, last: number): number {
  const seq = at ?? last
  if (Number.isSafeInteger(seq) && seq >= 0 && seq <= last) return seq
  throw new StintError('ARG_ERROR', `there is no record ${seq} to fork at: the last one is ${last}`)
}

/**
 * Attests both logs of a fork. Its journal may end within an append of several records, which then count. Its
 * audit log may have more lines than the journal attests.
 */
const attesting = (manifest: Manifest, ends: LogEnds): Manifest => ({
  ...manifest,
  revisions: manifest.revisions.map(({ from, ...revision }) => ({
    ...revision,
    ...(from && { from: { ...from, seq: ends.journal.seq } }),
    ...attestEnds(ends),
  })),
})

/**
 * Copies a session to another medium, under a new id or this one. Its lines have the same bytes there, so
 * checksums and checkpoints stay valid. `SESSION_LOCKED`; throws if it is damaged.
 */
export async function copySession(
  source: ReadableMedium,
  target: Medium,
  now: number,
  id: string = newSessionId(),
): Promise<{ id: string; ends: LogEnds }> {
  checkSessionId(id)
  const { session_id: from } = source.manifest
  const { state, holder } = source.summary
  if (state === 'active' || state === 'locked') throw sessionLocked(from, holder)
  const health = await verifyLogs(source)
  assertIntact(from, health)
  const journal = await readPart(source, 'journal', health.journal.lastSeq)
  const audit = await readPart(source, 'audit', health.audit.lastSeq)
  const ends = { journal: journal.end, audit: audit.end }
  const contents = contentsOf(source, { journal, audit })
  const facts = { kind: 'import', original: source.manifest, ends } as const
  await loadVerified(target, id, contents, facts, now)
  return { id, ends }
}

/** Where the contents of a new session come from. */
interface CopyFacts {
  kind: 'import' | 'repair'
  original: Manifest
  ends: LogEnds
}

/** Creates a session from contents, and reads it again: it must have these ends. */
export async function loadVerified(
  target: Medium,
  id: string,
  contents: SessionContents,
  { kind, original, ends }: CopyFacts,
  now: number,
): Promise<void> {
  const { session_id, store: from, key, ...rest } = original
  // The copy has the key only under the id that stands for it.
  const named = ifPossible(() => keyId(key)) === id ? { key } : {}
  const manifest = revised({ ...rest, ...named, session_id: id, store: target.id }, now, {
    kind,
    from: { session_id, seq: ends.journal.seq, store: from },
    ...attestEnds(ends),
  })
  await target.load(manifest, contents)
  try {
    await assertLoaded(await target.read(id), ends)
  } catch (error) {
    await target.remove(id, { purge: true })
    throw error
  }
}

async function assertLoaded(medium: ReadableMedium, ends: LogEnds): Promise<void> {
  const { journal, audit, ok } = await verifyLogs(medium)
  const isSame = isSameEnd(ends.journal, { seq: journal.lastSeq, sum: journal.head })
  if (ok && isSame && isSameEnd(ends.audit, { seq: audit.lastSeq, sum: audit.head })) return
  const { session_id: id } = medium.manifest
  throw new StintError('JOURNAL_CORRUPT', `${id} was changed while it was copied: nothing was created`)
}

/** The part of a log that is copied. */
interface LogPart {
  end: LogEnd
  /** How far the audit log had come, by the last checkpoint in this part of the journal. */
  audited: number
  blobs: Map<string, BlobName>
}

/** Reads a log up to a record. `JOURNAL_CORRUPT` or `AUDIT_CORRUPT` if a record is missing or changed. */
async function readPart(medium: ReadableMedium, log: LogName, to: number): Promise<LogPart> {
  const part: LogPart = { end: emptyLogEnd(log), audited: 0, blobs: new Map() }
  const note = (line: Line, { audit }: CheckedHeader): void => {
    part.audited = audit?.count ?? part.audited
    const blob = blobOf(line.bytes)
    if (blob !== undefined) part.blobs.set(blob.sha256, blob)
  }
  for await (const { end } of groupsOf(medium, log, to, note)) part.end = end
  return part
}

/** The contents of a session up to the ends of these parts. */
const contentsOf = (medium: ReadableMedium, parts: Record<LogName, LogPart>): SessionContents => ({
  groups: (log) => groupsOf(medium, log, parts[log].end.seq),
  async *blobs() {
    for (const name of new Map([...parts.journal.blobs, ...parts.audit.blobs]).values())
      yield { sha256: name.sha256, content: Buffer.from(await readBlob(medium, name)) }
  },
})

/** Reads the lines of a log up to a record, checked, in groups as large as the regions of the medium. */
async function* groupsOf(
  medium: ReadableMedium,
  log: LogName,
  to: number,
  onLine: (line: Line, header: CheckedHeader) => void = () => {},
): AsyncGenerator<LogGroup> {
  const { follows, sumOf } = codecs[log]
  let end = emptyLogEnd(log)
  for await (const region of medium.regions(log, { from: 1, backwards: false })) {
    const group = { lines: [] as Buffer[], lastAt: 0 }
    for (const line of linesForwards(region)) {
      if (end.seq === to) break
      const { header } = line
      const isNext = header?.seq === end.seq + 1 && (follows === undefined || follows(line.bytes, end.sum))
      if (header === undefined || !isNext) throw unreadable(medium, log, to)
      end = { seq: header.seq, sum: sumOf(line.bytes) }
      group.lines.push(region.bytes.subarray(line.start, line.end + 1))
      group.lastAt = header.at
      onLine(line, header)
    }
    const { lines, ...facts } = group
    if (lines.length > 0) yield { ...facts, lines: Buffer.concat(lines), end }
    if (end.seq === to) return
    await giveWay()
  }
  if (end.seq < to) throw unreadable(medium, log, to)
}

const unreadable = ({ manifest }: ReadableMedium, log: LogName, to: number): Error =>
  logUnreadable(manifest.session_id, log, to)
