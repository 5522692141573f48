import { succeeds } from '../../../base/errors/if-possible.ts'
import { errorCode, errorMessage } from '../../../base/errors/stint-error.ts'
import type { DiskSteps } from '../../../base/fs/disk-steps.ts'
import { ifExists } from '../../../base/fs/exists.ts'
import { runInTurns } from '../../../base/process/run-generator.ts'
import { isOptional, isRecord, isString } from '../../../base/text/fields.ts'
import { newSessionId } from '../../../base/text/id.ts'
import { checkSecretRef } from '../../../secrets/index.ts'
import type { Blobs } from '../../log/blobs.ts'
import { type LogName, logNames } from '../../log/log-end.ts'
import { readLines } from '../../log/read.ts'
import { parseLogRecord, type RecordHeader } from '../../log/record.ts'
import { type Manifest, parseManifest } from '../../manifest.ts'
import { checkSessionId, damageFound } from '../../session-errors.ts'
import { importedManifest } from '../../transfer.ts'
import { type RecoveredSession, recoverSession } from '../recover.ts'
import { filesystemId, type SessionDirectory, type SessionsHome } from '../session-directory.ts'
import { StagedSession } from '../staged-session.ts'
import { verifyInSteps } from '../verify.ts'
import { largestNumber } from './archive.ts'
import { invalidArchive } from './tar.ts'
import { unpackArchive, type Unpacked } from './unpack.ts'

export interface Imported {
  session_id: string
  /** The id in the archive. */
  from: string
  records: number
  audit_lines: number
}

/**
 * Creates a session from an archive, whole or not at all; without an id under the archived one, or under a
 * new one if that is taken. `ARCHIVE_INVALID`, `NAME_TAKEN`. A signal that is aborted before the session is
 * published ends the import with its reason.
 */
export async function importSession(
  home: SessionsHome,
  chunks: AsyncIterable<Buffer>,
  id?: string,
  signal?: AbortSignal,
): Promise<Imported> {
  if (id !== undefined) checkSessionId(id)
  const now = home.clock.now()
  home.ensure()
  const queue = home.newQueue()
  await queue.run(home.syncName())
  using staged = new StagedSession(home)
  const unpacked = await unpackArchive(chunks, staged.directory, queue)
  const manifest = checkManifest(unpacked)
  const recovered = await runInTurns(checkLogs(staged.directory, manifest, unpacked), signal)
  const { journal, audit, state } = recovered
  const ends = { journal: journal.end, audit: audit.end }
  const publishAs = async (session_id: string): Promise<Imported> => {
    signal?.throwIfAborted()
    const identity = { id: session_id, store: filesystemId, now }
    const imported = importedManifest({ manifest, ends, turns: state.turns }, identity)
    await queue.run(publish(staged, imported, recovered, now))
    return { session_id, from: unpacked.id, records: journal.end.seq, audit_lines: audit.end.seq }
  }
  try {
    return await publishAs(id ?? unpacked.id)
  } catch (error) {
    if (errorCode(error) !== 'NAME_TAKEN' || id !== undefined) throw error
    return await publishAs(newSessionId())
  }
}

/** Checks every field of the manifest that stint will read. */
function checkManifest({ id, manifest: text }: Unpacked): Manifest {
  const manifest = parseManifest(text)
  if (manifest === undefined || manifest.session_id !== id || !isWritable(manifest))
    throw invalidArchive('its manifest is invalid')
  for (const { secrets } of manifest.revisions) {
    if (secrets?.every((ref) => succeeds(() => checkSecretRef(ref))) === false)
      throw invalidArchive('its manifest has something else where references to secrets should be')
  }
  return manifest
}

function* checkLogs(
  directory: SessionDirectory,
  manifest: Manifest,
  { id }: Unpacked,
): Generator<void, RecoveredSession> {
  yield* checkRecords(directory)
  const health = yield* verifyInSteps(directory, { manifest })
  const damage = damageFound(id, health)
  if (damage !== undefined) throw invalidArchive(damage.message)
  if (!health.ok) throw invalidArchive([...health.journal.findings, ...health.audit.findings].join('; '))
  return yield* recoverSession(directory, manifest)
}

/** Checks the contents of the records: an archive may have right checksums and invalid records. */
function* checkRecords({ logs, blobs }: SessionDirectory): Generator<void> {
  for (const log of logNames)
    for (const { line, header } of readLines(logs[log], { attested: Number.POSITIVE_INFINITY })) {
      if (header.seq % checkedRecords === 0) yield
      if (header.epoch > largestNumber || !(yield* isReadable(log, line.bytes, header, blobs)))
        throw invalidArchive(`record ${header.seq} of its ${log} is invalid`)
    }
}

/** The event loop may run after so many records. */
const checkedRecords = 32

/** Can every command read this record and its data? */
function* isReadable(
  log: LogName,
  bytes: Buffer,
  header: RecordHeader,
  blobs: Blobs,
): Generator<void, boolean> {
  try {
    const line = parseLogRecord(bytes)
    const json = line.blob === undefined ? undefined : yield* blobs.get(line.blob)
    const record = json === undefined ? line : { ...line, data: JSON.parse(json) as unknown }
    const { type, data, slot, spool } = record
    return (
      // A field that is in the line twice has its last value here, and its first one in the header.
      (['seq', 'at', 'group', 'epoch'] as const).every((name) => record[name] === header[name]) &&
      isString(type) &&
      data !== undefined &&
      isOptional(slot, isSlotName) &&
      isOptional(spool, isString) &&
      (log === 'journal' || isAuditData(data)) &&
      ((record.blob === undefined && bytes.length < flatBytes) || isWritable(record))
    )
  } catch (error) {
    const code = errorCode(error)
    if (code === 'BLOB_MISSING') throw invalidArchive(errorMessage(error))
    // JSON.parse has failed, or a field has another type. A failed disk has a code.
    if (code === undefined) return false
    throw error
  }
}

const isSlotName = (value: unknown): boolean =>
  isRecord(value) && isString(value.ext) && isString(value.version)

/** Can the fields of an audit line be shown as text? */
function isAuditData(data: unknown): boolean {
  if (!isRecord(data)) return true
  const { error } = data
  return (
    ['action', 'subject', 'key', 'act'].every((name) => isOptional(data[name], isString)) &&
    !(isRecord(error) && typeof error.message === 'object')
  )
}

/** JSON of fewer bytes is not nested deeply enough to exhaust the stack of `JSON.stringify`. */
const flatBytes = 4096
/** What is printed later may be nested in an envelope, and the stack may be fuller. */
const spareLevels = 100

function isWritable(value: unknown): boolean {
  let nested = value
  for (let level = 0; level < spareLevels; level++) nested = [nested]
  // V8 encodes by recursion if there is a replacer. Newer versions need no stack without one, so a session
  // that they could import would be too deep for the versions before, and for what prints with indentation.
  return succeeds(() => JSON.stringify(nested, (_, part: unknown) => part))
}

function* publish(
  staged: StagedSession,
  manifest: Manifest,
  { journal, audit, state }: RecoveredSession,
  now: number,
): DiskSteps {
  const { disk, paths, snapshots } = staged.directory
  // With a snapshot, the first resume need not replay the logs.
  if (journal.end.seq > 0) yield* snapshots.write({ journal: journal.end, audit: audit.end }, state, now)
  yield* staged.writeManifest(manifest)
  for (const path of [paths.audit, paths.blobs])
    if (ifExists(() => disk.list(path)) !== undefined) yield { call: 'syncDirectory', path }
  yield* staged.publish(manifest)
}
