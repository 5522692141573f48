import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { LogFiles } from '../../log/log-files.ts'
import { readLines } from '../../log/read.ts'
import { hasBlob, parseLogRecord } from '../../log/record.ts'
import { closing, type Disk, readFully } from '../../../base/fs/disk.ts'
import { pieceBytes } from '../../../base/fs/disk-steps.ts'
import { giveWay } from '../../../base/process/event-loop.ts'
import { runInTurns } from '../../../base/process/run-generator.ts'
import { StintError } from '../../../base/errors/stint-error.ts'
import { assertIntact } from '../../session-errors.ts'
import { formatManifest, type SessionsHome } from '../session-directory.ts'
import { observeLock } from '../session-lock.ts'
import { verifyInSteps } from '../verify.ts'
import { aboutName, archiveFormat, formatSums, sumsName } from './archive.ts'
import { paddingAfter, tarEnd, tarHeader } from './tar.ts'

export interface Exported {
  session_id: string
  records: number
  audit_lines: number
  files: number
  bytes: number
}

/**
 * Verifies a session and passes its archive to `write` in pieces; it may be written to meanwhile. What
 * attests a log is read before the log, so that it cannot attest records that were written later: the
 * manifest and the lock, then the journal, then the audit log.
 */
export async function exportSession(
  home: SessionsHome,
  id: string,
  write: (bytes: Uint8Array) => void,
): Promise<Exported> {
  const { disk, clock } = home
  const now = clock.now()
  const { directory, manifest } = home.find(id)
  const { paths, logs } = directory
  const released = observeLock(paths.root).record?.ends
  const health = await runInTurns(verifyInSteps(directory, { manifest, released }))
  assertIntact(id, health)
  const { records } = health.journal
  const audit_lines = health.audit.records
  const names = new Set<string>()
  const journal = await runInTurns(measureSegments(logs.journal, records, names))
  const audit = await runInTurns(measureSegments(logs.audit, audit_lines, names))
  const about = {
    ...archiveFormat,
    session_id: id,
    exported_at: new Date(now).toISOString(),
    records,
    audit_lines,
  }
  const files: [name: string, bytes: number][] = [
    ...journal,
    ...audit.map(([name, bytes]): [string, number] => [`audit/${name}`, bytes]),
    ...[...names]
      .sort()
      .map((name): [string, number] => [`blobs/${name}`, sizeOf(disk, join(paths.blobs, name))]),
  ]
  let total = 0
  const put = (bytes: Uint8Array): void => {
    total += bytes.length
    write(bytes)
  }
  const entry = (name: string, kind: 'file' | 'directory', size: number): void =>
    put(tarHeader({ name: `${id}/${name}`, kind, size }, now))
  entry('', 'directory', 0)
  if (audit.length > 0) entry('audit/', 'directory', 0)
  if (names.size > 0) entry('blobs/', 'directory', 0)
  const sums = new Map<string, string>()
  const add = async (name: string, size: number, pieces: Iterable<Buffer>): Promise<void> => {
    entry(name, 'file', size)
    const hash = createHash('sha256')
    for (const piece of pieces) {
      hash.update(piece)
      put(piece)
      await giveWay()
    }
    put(Buffer.alloc(paddingAfter(size)))
    sums.set(name, hash.digest('hex'))
  }
  const addText = async (name: string, text: string): Promise<void> =>
    await add(name, Buffer.byteLength(text), [Buffer.from(text)])
  await addText(aboutName, `${JSON.stringify(about, undefined, 2)}\n`)
  await addText('manifest.json', formatManifest(manifest))
  for (const [name, bytes] of files) await add(name, bytes, piecesOf(disk, join(paths.root, name), bytes))
  await addText(sumsName, formatSums(sums))
  put(tarEnd())
  return { session_id: id, records, audit_lines, files: sums.size, bytes: total }
}

const linesPerStep = 64

/** Measures the intact records of each segment, and adds the blobs that its lines name to `blobs`. */
function* measureSegments(
  files: LogFiles,
  last: number,
  blobs: Set<string>,
): Generator<void, [name: string, bytes: number][]> {
  const ends = new Map<string, number>()
  for (const { line, header, segment } of readLines(files, { to: last, attested: last })) {
    ends.set(segment, line.next)
    if (header.seq % linesPerStep === 0) yield
    if (hasBlob(line, header)) blobs.add(parseLogRecord(line.bytes).blob?.sha256 ?? '')
  }
  return [...ends]
}

/** Reads the first bytes of a file in pieces. */
function* piecesOf(disk: Disk, path: string, bytes: number): Generator<Buffer> {
  using file = closing(disk, disk.openToRead(path))
  for (let at = 0; at < bytes; at += pieceBytes) {
    const wanted = Math.min(pieceBytes, bytes - at)
    const piece = readFully(disk, file.fd, at, wanted)
    if (piece.length < wanted)
      throw new StintError('JOURNAL_CORRUPT', `${path} became shorter while it was read`)
    yield piece
  }
}

function sizeOf(disk: Disk, path: string): number {
  using file = closing(disk, disk.openToRead(path))
  return disk.size(file.fd)
}
