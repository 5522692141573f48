import { rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { StintError } from '../../base/errors/stint-error.ts'
import { isStaged, replaceBy, replaceOnDisk } from '../../base/fs/atomic-file.ts'
import { closing, type Disk, listIfExists, pieceBytes, readFully } from '../../base/fs/disk.ts'
import type { Clock } from '../../base/process/clock.ts'
import { isSameEnd, type LogEnd, type LogName, logNames } from '../log/codec.ts'
import type { Manifest } from '../manifest.ts'
import type { CutBytes, HeldMedium, LogGroup, LogTail, SessionHold } from '../medium.ts'
import type { Holder } from '../store.ts'
import { cutTornTail, removeSuperseded, syncAccepted } from './cut-torn-tail.ts'
import { type AppendPoint, FileLog, type SegmentSizes } from './file-log.ts'
import {
  laterSegment,
  listSegments,
  type LogFiles,
  type LogPositions,
  logStart,
  type Position,
} from './log-files.ts'
import { lastRecordIn } from './list-sessions.ts'
import { ReadableFiles } from './readable-files.ts'
import { formatManifest, type FoundSession } from './session-directory.ts'
import { type AcquiredLock, undoAcquire } from './session-lock.ts'

/** A session that this process has taken, and why. */
export interface TakenSession extends FoundSession {
  acquired: AcquiredLock
  hold: SessionHold
  clock: Clock
  sizes: SegmentSizes
  /** It was just created. */
  isNew: boolean
}

/** A session in plain files, held for writing. */
export class HeldFiles extends ReadableFiles implements HeldMedium {
  readonly #taken: TakenSession
  #manifest: Manifest
  #logs: Record<LogName, FileLog> | undefined
  #stage: 'open' | 'closed' | 'released' = 'open'
  /** Where the logs end, if the next holder may rely on it: they are closed, and the manifest is complete. */
  #finalEnds: LogPositions | undefined
  #isManifestUpToDate = true
  #starts: LogPositions | undefined
  #lastAt: number | undefined

  constructor(taken: TakenSession) {
    const { lock, before } = taken.acquired
    super(taken, { standing: 'held', record: lock.record }, before?.ends)
    this.#taken = taken
    this.#manifest = taken.manifest
  }

  override get manifest(): Manifest {
    return this.#manifest
  }

  get epoch(): number {
    return this.#taken.acquired.lock.holdEpoch
  }

  get previous(): Holder | undefined {
    return this.#taken.acquired.before?.holder
  }

  get damage(): string | undefined {
    return this.directory.damageNote()
  }

  /** The last holder has closed the logs, or the session is new: no earlier writer can add to them. */
  get #wasClosed(): boolean {
    return this.#taken.isNew || this.#taken.acquired.standing === 'released'
  }

  async begin(tails: Readonly<Record<LogName, LogTail>>): Promise<CutBytes[]> {
    return await this.withErrors('open', async () => {
      const cut = await this.#settleLogs(tails)
      const logs = { journal: await this.#logAt('journal', tails), audit: await this.#logAt('audit', tails) }
      await logs.journal.open()
      // After a crash, a new segment supersedes the lines that an earlier writer may still add.
      if (!this.#wasClosed)
        await logs.audit.open().catch((error: unknown) => {
          logs.journal.abandon()
          throw error
        })
      this.#logs = logs
      this.#starts = { journal: logs.journal.position, audit: logs.audit.position }
      return cut
    })
  }

  /** Cuts torn tails off, makes what is left durable, and removes what no reader needs. */
  async #settleLogs(tails: Readonly<Record<LogName, LogTail>>): Promise<CutBytes[]> {
    const { logs, paths } = this.directory
    const { isNew, hold, acquired } = this.#taken
    const cut: CutBytes[] = []
    const isSettled = isNew || this.#isAsReleased(tails)
    if (isSettled && (isNew || hold.kind === 'visitor')) return cut
    for (const log of logNames) cut.push(...(await cutTornTail(logs[log], tails[log], paths.quarantine)))
    if (!isSettled) for (const log of logNames) await syncAccepted(logs[log], tails[log])
    for (const log of logNames) await removeSuperseded(logs[log])
    if (acquired.standing === 'dead') await this.#removeStaged()
    return cut
  }

  /** Do the logs end where the last holder has closed them? Then they are synced, and nothing follows. */
  #isAsReleased(tails: Readonly<Record<LogName, LogTail>>): boolean {
    const ends = this.#taken.acquired.before?.ends
    if (ends === undefined) return false
    return logNames.every((log) => isSameEnd(tails[log].end, ends[log]) && tails[log].torn.length === 0)
  }

  /** Removes the temporary files of a dead writer. */
  async #removeStaged(): Promise<void> {
    const { disk, paths } = this.directory
    const { root, audit, blobs, quarantine, state } = paths
    for (const directory of [root, audit, blobs, quarantine, state])
      for (const name of listIfExists(disk, directory))
        if (isStaged(name)) await disk.unlink(join(directory, name))
  }

  async #logAt(log: LogName, tails: Readonly<Record<LogName, LogTail>>): Promise<FileLog> {
    const { acquired, hold, sizes, isNew } = this.#taken
    const { end, segment, offset } = tails[log]
    const from = end.seq === 0 ? logStart(log) : { ...end, segment, offset }
    const files = this.directory.logs[log]
    const start = isNew
      ? { from, continues: log === 'journal', isNew }
      : await chooseAppendPoint(files, from, acquired)
    return new FileLog({
      files,
      start,
      epoch: this.epoch,
      sizes: {
        segmentBytes: sizes.segmentBytes,
        // A visitor closes the file in a moment, which cuts the filling off again.
        growBytes: hold.kind === 'visitor' ? 0 : sizes.growBytes,
      },
      assertOwned: () => acquired.lock.assertOwned(),
    })
  }

  async append(log: LogName, group: LogGroup): Promise<LogEnd> {
    try {
      await this.#opened[log].append(group)
    } catch (error) {
      throw this.explain(error, `write to the ${log} of`)
    }
    if (log === 'journal') this.#lastAt = group.lastAt
    return group.end
  }

  async putBlob(sha256: string, content: Uint8Array): Promise<void> {
    await this.withErrors('write to', async () => {
      this.#taken.acquired.lock.assertOwned()
      await this.directory.putBlob(sha256, content)
    })
  }

  async saveState(texts: ReadonlyMap<string, string>, isClosing: boolean): Promise<void> {
    await this.withErrors('write a snapshot of', async () => {
      this.#taken.acquired.lock.assertOwned()
      await this.directory.saveState(texts, isClosing)
    })
  }

  async saveManifest(manifest: Manifest): Promise<void> {
    await this.withErrors('write the manifest of', async () => {
      const { lock } = this.#taken.acquired
      const { disk, paths } = this.directory
      lock.assertOwned()
      this.#isManifestUpToDate = false
      // On a slow disk the new manifest takes a while: another process may have taken the session meanwhile.
      await replaceOnDisk(disk, paths.manifest, formatManifest(manifest), () => lock.assertOwned())
      this.#isManifestUpToDate = true
      this.#manifest = manifest
    })
  }

  async beat(): Promise<void> {
    await this.withErrors('write the lock of', () => this.#taken.acquired.lock.beat(this.#taken.clock.now()))
  }

  async release(): Promise<void> {
    await this.withErrors('close', () => (this.#logs === undefined ? this.#undo() : this.#release()))
  }

  /** Leaves the session as it was found. */
  async #undo(): Promise<void> {
    const { isNew, acquired } = this.#taken
    if (!isNew) return await undoAcquire(acquired)
    // If this process was suspended, a user may have unlocked the session for another process: it stays.
    acquired.lock.assertOwned()
    rmSync(this.directory.paths.root, { recursive: true, force: true })
  }

  async #release(): Promise<void> {
    if (this.#stage === 'released') return
    try {
      if (this.#stage === 'open') await this.#closeLogs()
    } finally {
      // Even if closing has failed: then the next holder recovers the logs.
      await this.#taken.acquired.lock.release(this.#finalEnds, this.#lastActivity())
      this.#stage = 'released'
    }
  }

  async #closeLogs(): Promise<void> {
    const { journal, audit } = this.#opened
    this.#stage = 'closed'
    try {
      await audit.close()
    } finally {
      await journal.close()
    }
    const ends = { journal: journal.position, audit: audit.position }
    // If the manifest could not be written, the session is closed only if its logs are as they were found.
    const isAsFound = this.#wasClosed && logNames.every((log) => ends[log].seq === this.#starts?.[log].seq)
    if (this.#isManifestUpToDate || isAsFound) this.#finalEnds = ends
  }

  /** When the last record was written; when the session was created, if there is none. */
  #lastActivity(): number {
    return (
      this.#lastAt ?? lastRecordIn(this.directory, this.manifest)?.at ?? Date.parse(this.manifest.created_at)
    )
  }

  get #opened(): Record<LogName, FileLog> {
    if (this.#logs === undefined) throw new Error('the logs of the session were not opened')
    return this.#logs
  }
}

/** Chooses where a new writer goes on in a log, so that no earlier writer can spoil its records. */
async function chooseAppendPoint(
  files: LogFiles,
  from: Position,
  { standing, lock }: AcquiredLock,
): Promise<AppendPoint> {
  const last = listSegments(files).at(-1)
  // The last writer has closed the segment. Records added to any segment but the last would never be read.
  if (standing === 'released') return { from, continues: last?.name === from.segment }
  // The last writer is dead, or there was none.
  if (standing === 'dead' || standing === 'never') return { from, continues: false }
  // The last writer is silent, or `unlock` has taken its lock. It may still write to its last segment, or
  // truncate it: copy its acknowledged part.
  if (last === undefined || from.segment !== last.name || from.seq === 0) return { from, continues: false }
  const { disk, directory, log } = files
  const segment = laterSegment(log, last.firstSeq, lock.holdEpoch)
  using file = closing(disk, disk.openToRead(join(directory, last.name)))
  if (!(await copyBytes(disk, file.fd, from.offset, join(directory, segment))))
    throw new StintError('SESSION_LOCKED', 'the previous writer is still writing to the session')
  return { from: { ...from, segment }, continues: true }
}

/** Writes and syncs a copy of the first bytes of a file. False, and no copy, if the file has fewer. */
async function copyBytes(disk: Disk, file: number, bytes: number, to: string): Promise<boolean> {
  const tooShort = new Error('the file is shorter than it was')
  try {
    await replaceBy(disk, to, async (put) => {
      for (let at = 0; at < bytes; at += pieceBytes) {
        const length = Math.min(pieceBytes, bytes - at)
        const piece = await readFully(disk, file, at, length)
        if (piece.length < length) throw tooShort
        await put(piece)
      }
    })
    await disk.syncDirectory(dirname(to))
    return true
  } catch (error) {
    if (error !== tooShort) throw error
    return false
  }
}
