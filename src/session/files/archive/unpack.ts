import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { closing, makeIfMissing } from '../../../base/fs/disk.ts'
import type { DiskQueue } from '../../../base/fs/disk-queue.ts'
import { type DiskSteps, writeSteps } from '../../../base/fs/disk-steps.ts'
import type { SessionDirectory } from '../session-directory.ts'
import {
  aboutName,
  type ArchiveAbout,
  type ArchiveMember,
  parseMemberName,
  parseAbout,
  parseSums,
  splitEntryName,
  sumsName,
} from './archive.ts'
import { invalidArchive, type ReadEntry, readTar } from './tar.ts'

/** An archive whose files are written and have the sums that it names. */
export interface Unpacked {
  id: string
  about: ArchiveAbout
  manifest: string
}

/** A limit that no manifest reaches. */
const maxTextBytes = 64 << 20

/**
 * Writes the files of an archive into the directory of a staged session. A name in the archive never becomes
 * a path: it must be one of the few names that a session has. `ARCHIVE_INVALID` for a file that is missing,
 * unknown, duplicated or does not match its sum.
 */
export async function unpackArchive(
  chunks: AsyncIterable<Buffer>,
  staged: SessionDirectory,
  queue: DiskQueue,
): Promise<Unpacked> {
  const sums = new Map<string, string>()
  const texts = new Map<string, string>()
  let id: string | undefined
  for await (const entry of readTar(chunks)) {
    const { id: of, rest } = splitEntryName(entry.name)
    if (of !== (id ??= of)) throw invalidArchive(`it has two sessions, ${id} and ${of}`)
    if (entry.kind === 'directory') {
      if (!['', 'audit', 'blobs'].includes(rest)) throw foreign(entry)
      continue
    }
    const member = parseMemberName(rest)
    if (member === undefined) throw foreign(entry)
    if (sums.has(rest)) throw invalidArchive(`${rest} is in it twice`)
    if (member.kind === 'text') {
      const bytes = await readText(entry)
      texts.set(rest, bytes.toString())
      sums.set(rest, createHash('sha256').update(bytes).digest('hex'))
    } else sums.set(rest, await writeMember(staged, queue, member, entry))
  }
  const text = (name: string): string => texts.get(name) ?? missing(name)
  const about = parseAbout(text(aboutName))
  compareSums(sums, parseSums(text(sumsName)))
  if (id === undefined || about.session_id !== id)
    throw invalidArchive('it does not say which session it has')
  return { id, about, manifest: text('manifest.json') }
}

const foreign = ({ name }: ReadEntry) =>
  invalidArchive(`${JSON.stringify(name.slice(0, 200))} is not a file of a session`)

function missing(name: string): never {
  throw invalidArchive(`${name} is missing`)
}

function compareSums(found: Map<string, string>, named: Map<string, string>): void {
  found.delete(sumsName)
  for (const [name, sum] of named) {
    if (!found.has(name)) missing(name)
    if (found.get(name) !== sum) throw invalidArchive(`${name} does not match its sum`)
  }
  for (const name of found.keys())
    if (!named.has(name)) throw invalidArchive(`${name} has no sum in ${sumsName}`)
}

async function readText(entry: ReadEntry): Promise<Buffer> {
  if (entry.size > maxTextBytes) throw invalidArchive(`${entry.name} is too large`)
  const pieces: Buffer[] = []
  for await (const piece of entry.content()) pieces.push(piece)
  return Buffer.concat(pieces)
}

/** Writes and syncs a file, and returns its sum. */
async function writeMember(
  { disk, paths }: SessionDirectory,
  queue: DiskQueue,
  { kind, name }: ArchiveMember,
  entry: ReadEntry,
): Promise<string> {
  const directory = { text: paths.root, journal: paths.root, audit: paths.audit, blob: paths.blobs }[kind]
  makeIfMissing(disk, directory)
  const hash = createHash('sha256')
  using file = closing(disk, disk.create(join(directory, name)))
  let at = 0
  for await (const piece of entry.content()) {
    hash.update(piece)
    await queue.run(writeSteps(file.fd, piece, at))
    at += piece.length
  }
  await queue.run(syncFile(file.fd))
  return hash.digest('hex')
}

function* syncFile(file: number): DiskSteps {
  yield { call: 'sync', file }
}
