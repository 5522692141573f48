import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { Blobs } from '../log/blobs.ts'
import { readLines } from '../log/read.ts'
import { parseLogRecord } from '../log/record.ts'
import { type Disk, ensureDirectory, writeFully } from '../../base/fs/disk.ts'
import { newSessionId } from '../../base/text/id.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { damageFound, sessionLocked } from '../session-errors.ts'
import { importedManifest, type SessionTransfer } from '../transfer.ts'
import { checkSessionId } from '../session-errors.ts'
import { filesystemId, findSession } from './find-session.ts'
import { logsOf } from './logs.ts'
import { sessionPathsIn, type SessionPaths } from './paths.ts'
import { recoverSession, sourcesIn } from './recover.ts'
import { observeLock } from './session-lock.ts'
import { ensureSessions, syncSessionsName } from './sessions-directory.ts'
import { publishSession, stageSession } from './staged-session.ts'
import { verifySession } from './verify.ts'

/** A session to be taken along: `SESSION_LOCKED` if somebody holds it, and what its damage is if it has any. */
export function readTransferFromFiles(disk: Disk, sessions: string, id: string): SessionTransfer {
  const { paths, manifest } = findSession(disk, sessions, id)
  const { record, standing } = observeLock(paths.root)
  if (standing === 'held') throw sessionLocked(id, record?.holder)
  const sources = sourcesIn(disk, paths, manifest, record?.ends)
  const health = verifySession(sources)
  const damage = damageFound(id, health)
  if (damage !== undefined) throw damage
  const { journal, audit } = health
  const counts = { journal: journal.records, audit: audit.records }
  return {
    manifest,
    ends: {
      journal: { seq: journal.lastSeq, tail: journal.head },
      audit: { seq: audit.lastSeq, tail: audit.head },
    },
    turns: recoverSession(sources).state.turns,
    async *lines(log) {
      for (const { line } of readLines(sources.logs[log], { to: counts[log] })) yield line.bytes.toString()
    },
    blob: async (name) => sources.blobs.get(name),
  }
}

export interface FilesTransferTarget {
  disk: Disk
  home: string
  id?: string
  now: number
}

/** A new session with what the parcel has, held by nobody: whole, and checked to the byte, or not at all. */
export async function writeTransferToFiles(
  parcel: SessionTransfer,
  { disk, home, id = newSessionId(), now }: FilesTransferTarget,
): Promise<string> {
  checkSessionId(id)
  const sessions = ensureSessions(home)
  syncSessionsName(disk, home)
  const manifest = importedManifest(parcel, { id, store: filesystemId, now })
  const staged = stageSession(disk, sessions, manifest)
  try {
    await writeLog(disk, staged, 'journal', parcel)
    await writeLog(disk, staged, 'audit', parcel)
    const sources = sourcesIn(disk, staged, manifest)
    const health = verifySession(sources)
    const { journal, audit } = parcel.ends
    if (!health.ok || health.journal.head !== journal.tail || health.audit.head !== audit.tail)
      throw damageFound(id, health) ?? notAsWritten(id)
    const { state, ...scanned } = recoverSession(sources)
    // The first resume need not read all of it.
    if (journal.seq > 0)
      sources.snapshots.write({ journal: scanned.journal.end, audit: scanned.audit.end }, state, now)
    publishSession(disk, staged, sessionPathsIn(join(sessions, id)), manifest)
    return id
  } catch (error) {
    rmSync(staged.root, { recursive: true, force: true })
    throw error
  }
}

const pieceBytes = 1 << 20

/** With the blobs that its lines name. */
async function writeLog(
  disk: Disk,
  staged: SessionPaths,
  log: 'journal' | 'audit',
  parcel: SessionTransfer,
): Promise<void> {
  if (parcel.ends[log].seq === 0) return
  const { directory } = logsOf(disk, staged)[log]
  ensureDirectory(disk, directory)
  const blobs = new Blobs(disk, staged.blobs)
  const file = disk.create(join(directory, `${log}.log`))
  try {
    let [text, offset] = ['', 0]
    const flush = (): void => {
      const bytes = Buffer.from(text)
      writeFully(disk, file, bytes, offset)
      offset += bytes.length
      text = ''
    }
    for await (const line of parcel.lines(log)) {
      text += `${line}\n`
      const { blob } = line.includes('"blob":') ? parseLogRecord(Buffer.from(line)) : {}
      if (blob !== undefined) blobs.put(await parcel.blob(blob))
      if (text.length > pieceBytes) flush()
    }
    flush()
    disk.sync(file)
  } finally {
    disk.close(file)
  }
  disk.syncDirectory(directory)
}

const notAsWritten = (id: string): StintError =>
  new StintError('JOURNAL_CORRUPT', `${id} did not arrive as it was written: nothing was copied`)
