import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { type Disk, makeIfMissing, writeFully } from '../../../base/fs/disk.ts'
import type { SessionPaths } from '../paths.ts'
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
import { type ReadEntry, readTar } from './read-tar.ts'
import { invalidArchive } from './tar.ts'

/** What an archive says, once all of it is in files and has the sums it names. */
export interface Unpacked {
  id: string
  about: ArchiveAbout
  manifest: string
}

/** No text that we make comes near this. */
const maxTextBytes = 64 << 20

/**
 * Writes the files of an archive into the directory of a staged session. No name of the archive is ever used as a path: each must be one of the few that a session
 * has. Everything is checked against the sums: what is missing, too much, twice there or changed is `ARCHIVE_INVALID`.
 */
export async function unpackArchive(
  disk: Disk,
  chunks: AsyncIterable<Buffer>,
  staged: SessionPaths,
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
    if (member.kind === 'about' || member.kind === 'sums' || member.kind === 'manifest') {
      const bytes = await readText(entry)
      texts.set(rest, bytes.toString())
      sums.set(rest, createHash('sha256').update(bytes).digest('hex'))
    } else sums.set(rest, await writeMember(disk, staged, member, entry))
  }
  const text = (name: string): string => texts.get(name) ?? missing(name)
  const about = parseAbout(text(aboutName))
  compareSums(sums, parseSums(text(sumsName)))
  if (id === undefined || about.session_id !== id)
    throw invalidArchive('it does not say which session it has')
  return { id, about, manifest: text('manifest.json') }
}

const foreign = ({ name }: ReadEntry) =>
  invalidArchive(`${JSON.stringify(name.slice(0, 200))} is nothing that a session has`)

function missing(name: string): never {
  throw invalidArchive(`${name} is missing`)
}

function compareSums(found: Map<string, string>, named: Map<string, string>): void {
  found.delete(sumsName)
  for (const [name, sum] of named) {
    if (!found.has(name)) missing(name)
    if (found.get(name) !== sum) throw invalidArchive(`${name} is not what its sum says`)
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

/** On return it is on disk; gives its sum. */
async function writeMember(
  disk: Disk,
  staged: SessionPaths,
  member: Extract<ArchiveMember, { kind: 'journal' | 'audit' | 'blob' }>,
  entry: ReadEntry,
): Promise<string> {
  const directory = { journal: staged.root, audit: staged.audit, blob: staged.blobs }[member.kind]
  makeIfMissing(disk, directory)
  const hash = createHash('sha256')
  const file = disk.create(join(directory, member.kind === 'blob' ? member.sha256 : member.name))
  try {
    let at = 0
    for await (const piece of entry.content()) {
      hash.update(piece)
      writeFully(disk, file, piece, at)
      at += piece.length
    }
    disk.sync(file)
  } finally {
    disk.close(file)
  }
  return hash.digest('hex')
}
