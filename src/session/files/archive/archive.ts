import { parseSegmentName } from '../../log/log-files.ts'
import { visibleJson } from '../../../base/text/escape.ts'
import { parseObject } from '../../../base/text/fields.ts'
import { isSessionId } from '../../../base/text/id.ts'
import { invalidArchive } from './tar.ts'

/**
 * A session as one file: a tar archive with one directory, named after the session.
 *
 * - `stint-session.json` comes first and describes the archive.
 * - `manifest.json`, the segments of the journal, `audit/` and `blobs/` are as in the session's directory.
 * - `SHA256SUMS` comes last and has the sums of all other files; `sha256sum -c` reads it.
 *
 * Snapshots can be made again, and the lock, the spool and the quarantine belong to one place.
 */
export const archiveFormat = { format: 'stint-session', version: 1 } as const

export const aboutName = 'stint-session.json'
export const sumsName = 'SHA256SUMS'

/** The description of an archive. */
export interface ArchiveAbout {
  format: string
  version: number
  session_id: string
  exported_at: string
  records: number
  audit_lines: number
}

/** A file in an archive: one of the three texts about the session, or one of its own files. */
export interface ArchiveMember {
  kind: 'text' | 'journal' | 'audit' | 'blob'
  /** Its name in the directory of its kind. */
  name: string
}

/** No record or epoch has a higher number in practice. The numbers after it still fit a segment's name. */
export const largestNumber = 1e12

/** The member with this name; undefined for any other name. Only the names of members become paths. */
export function parseMemberName(name: string): ArchiveMember | undefined {
  if ([aboutName, sumsName, 'manifest.json'].includes(name)) return { kind: 'text', name }
  const blob = /^blobs\/([0-9a-f]{64})$/.exec(name)?.[1]
  if (blob !== undefined) return { kind: 'blob', name: blob }
  const [log, file] = name.startsWith('audit/')
    ? (['audit', name.slice(6)] as const)
    : (['journal', name] as const)
  const segment = parseSegmentName(log, file)
  if (segment === undefined || segment.epoch > largestNumber || segment.firstSeq > largestNumber)
    return undefined
  return { kind: log, name: file }
}

/** Splits the name of an entry, `<id>/<member>`. */
export function splitEntryName(name: string): { id: string; rest: string } {
  const [id = '', ...rest] = name.replace(/^\.\//, '').replace(/\/$/, '').split('/')
  if (!isSessionId(id))
    throw invalidArchive(`the name ${JSON.stringify(name.slice(0, 200))} does not belong to a session`)
  return { id, rest: rest.join('/') }
}

/** Formats `SHA256SUMS`. */
export const formatSums = (sums: ReadonlyMap<string, string>): string =>
  [...sums].map(([name, sha256]) => `${sha256}  ${name}\n`).join('')

export function parseSums(text: string): Map<string, string> {
  const sums = new Map<string, string>()
  for (const line of text.split('\n').filter((each) => each !== '')) {
    const match = /^([0-9a-f]{64}) [ *](.+)$/.exec(line)
    if (match === null || sums.has(match[2] as string)) throw invalidArchive(`${sumsName} is invalid`)
    sums.set(match[2] as string, match[1] as string)
  }
  return sums
}

export function parseAbout(text: string): ArchiveAbout {
  const about = parseObject(text)
  if (about?.format !== archiveFormat.format) throw invalidArchive('it is not the archive of a session')
  if (about.version !== archiveFormat.version)
    throw invalidArchive(
      `this version reads version ${archiveFormat.version} of archives, not ${visibleJson(about.version)}`,
    )
  return about as unknown as ArchiveAbout
}
