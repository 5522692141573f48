import { join } from 'node:path'
import { type LogName, logNames } from '../log/log-end.ts'
import { firstSegment } from '../log/log-files.ts'
import { readLines } from '../log/read.ts'
import { parseLogRecord } from '../log/record.ts'
import { closing, ensureDirectory, pieceBytes, writeInPieces } from '../../base/fs/disk.ts'
import { newSessionId } from '../../base/text/id.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { assertIntact, checkSessionId, damageFound, sessionLocked } from '../session-errors.ts'
import { importedManifest, type SessionTransfer } from '../transfer.ts'
import { recoverSession } from './recover.ts'
import { filesystemId, type SessionDirectory, type SessionsHome } from './session-directory.ts'
import { observeLock } from './session-lock.ts'
import { StagedSession } from './staged-session.ts'
import { verifySession } from './verify.ts'

/** Opens a session for copying it to another store. `SESSION_LOCKED`; throws if it is damaged. */
export async function readTransferFromFiles(home: SessionsHome, id: string): Promise<SessionTransfer> {
  const { directory, manifest } = home.find(id)
  const { record, standing } = observeLock(directory.paths.root)
  if (standing === 'held') throw sessionLocked(id, record?.holder)
  const health = await verifySession(directory, { manifest, released: record?.ends })
  assertIntact(id, health)
  const { journal, audit } = health
  const { state } = await recoverSession(directory, manifest, record?.ends)
  const counts = { journal: journal.records, audit: audit.records }
  return {
    kind: 'import',
    manifest,
    ends: {
      journal: { seq: journal.lastSeq, sum: journal.head },
      audit: { seq: audit.lastSeq, sum: audit.head },
    },
    turns: state.turns,
    async *lines(log) {
      for (const { line } of readLines(directory.logs[log], { to: counts[log], attested: counts[log] }))
        yield line.bytes.toString()
    },
    blob: (name) => directory.blobs.get(name),
  }
}

/** Creates a session from a transfer, verified and whole or not at all, and returns its id. */
export async function writeTransferToFiles(
  home: SessionsHome,
  transfer: SessionTransfer,
  id = newSessionId(),
): Promise<string> {
  checkSessionId(id)
  const now = home.clock.now()
  home.ensure()
  await home.syncName()
  const manifest = importedManifest(transfer, { id, store: filesystemId, now })
  using staged = await StagedSession.make(home)
  await staged.writeManifest(manifest)
  const { directory } = staged
  for (const log of logNames) await writeLog(directory, log, transfer)
  const health = await verifySession(directory, { manifest })
  const { journal, audit } = transfer.ends
  if (!health.ok || health.journal.head !== journal.sum || health.audit.head !== audit.sum)
    throw damageFound(id, health) ?? changedOnTheWay(id)
  // With a snapshot, the first resume need not replay the logs.
  const recovered = await recoverSession(directory, manifest)
  const ends = { journal: recovered.journal.end, audit: recovered.audit.end }
  if (journal.seq > 0) await directory.snapshots.write(ends, recovered.state, now)
  await staged.publish(manifest)
  return id
}

/** Writes and syncs a log, and the blobs that its lines name. */
async function writeLog(
  { disk, logs, blobs }: SessionDirectory,
  log: LogName,
  transfer: SessionTransfer,
): Promise<void> {
  if (transfer.ends[log].seq === 0) return
  const { directory } = logs[log]
  await ensureDirectory(disk, directory)
  using file = closing(disk, await disk.create(join(directory, firstSegment(log))))
  let [text, offset] = ['', 0]
  const flush = async (): Promise<void> => {
    const bytes = Buffer.from(text)
    await writeInPieces(disk, file.fd, bytes, offset)
    offset += bytes.length
    text = ''
  }
  for await (const line of transfer.lines(log)) {
    text += `${line}\n`
    const { blob } = line.includes('"blob":') ? parseLogRecord(Buffer.from(line)) : {}
    if (blob !== undefined) await blobs.put(await transfer.blob(blob))
    if (text.length > pieceBytes) await flush()
  }
  await flush()
  await disk.sync(file.fd)
  await disk.syncDirectory(directory)
}

const changedOnTheWay = (id: string): StintError =>
  new StintError('JOURNAL_CORRUPT', `${id} was changed while it was copied: nothing was created`)
