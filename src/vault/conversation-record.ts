import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ifExists, listIfReadable } from '../base/fs/exists.ts'
import { isCount, isNumber, isString, parseObject } from '../base/text/fields.ts'
import { isSessionId } from '../base/text/id.ts'

/** The facts by which an unchanged file is recognized without reading it. */
export interface FileStat {
  size: number
  /** In milliseconds; null if the file has to be read again in any case. */
  mtime: number | null
  ino: number
}

/** A line of `vault.jsonl`: bytes of a file that were stored, and synced, before the line was written. */
export interface CopyLine extends FileStat {
  at: number
  /** The name of the file in its generation. */
  file: string
  generation: number
  /** Where the new bytes begin, and how many there are. */
  offset: number
  length: number
  /** Of everything that is stored of the file in this generation. */
  sha256: string
  source: string
  /** The directory of the agent that the source is in. */
  root: string
}

/** What is stored of a file in one generation. */
export interface Version {
  generation: number
  length: number
  sha256: string
}

/** A file of a conversation, in all its generations. */
export interface StoredFile {
  name: string
  /** By generation, oldest first. */
  versions: Map<number, Version>
  /** The last copy. */
  last: CopyLine
  /** The last copy of each source: two directories of an agent can have a conversation each. */
  bySource: Map<string, CopyLine>
}

export class ConversationRecord {
  readonly files = new Map<string, StoredFile>()
  /** The length of `vault.jsonl` up to its last whole line; what follows is torn. */
  end = 0

  constructor(readonly directory: string) {}

  get lastGeneration(): number {
    return Math.max(0, ...[...this.files.values()].map(({ last }) => last.generation))
  }

  /** The path of a stored file. */
  pathOf = (file: string, generation: number): string => join(this.directory, String(generation), file)

  add(line: CopyLine): void {
    const { file: name, generation, offset, length, sha256 } = line
    const file: StoredFile = this.files.get(name) ?? {
      name,
      versions: new Map(),
      last: line,
      bySource: new Map(),
    }
    file.versions.set(generation, { generation, length: offset + length, sha256 })
    file.last = line
    file.bySource.set(line.source, line)
    this.files.set(name, file)
  }
}

/** The name of the record in the directory of a conversation. */
export const recordName = 'vault.jsonl'

/** Reads the record of a conversation; one without lines if there is none. */
export function readRecord(directory: string): ConversationRecord {
  const record = new ConversationRecord(directory)
  const path = `${directory}/${recordName}`
  // As text: that is one call into Node, and a sync reads a record for each conversation.
  const text = ifExists(() => readFileSync(path, 'utf8')) ?? ''
  const end = text.lastIndexOf('\n') + 1
  // Damaged bytes have another length as text.
  record.end = text.includes('\ufffd')
    ? readFileSync(path).lastIndexOf('\n') + 1
    : Buffer.byteLength(text.slice(0, end))
  for (let start = 0; start < end; start = text.indexOf('\n', start) + 1) {
    const line = parseObject(text.slice(start, text.indexOf('\n', start)))
    if (line !== undefined && isCopyLine(line)) record.add(line)
  }
  return record
}

const isCopyLine = (line: object): line is CopyLine => {
  const { at, file, generation, offset, length, sha256, source, root, size, mtime, ino } = line as CopyLine
  return (
    isCount(generation) &&
    isCount(offset) &&
    isCount(length) &&
    isCount(size) &&
    isCount(ino) &&
    isNumber(at) &&
    (mtime === null || isNumber(mtime)) &&
    isString(sha256) &&
    isString(source) &&
    isString(root) &&
    isString(file) &&
    isSafeName(file)
  )
}

/** Does this name stay within the directory that it is joined to? */
export const isSafeName = (name: string): boolean => !/\0|(?:^|\/)\.{0,2}(?:\/|$)/.test(name)

/** Was a file not changed between these two looks? */
export const isSameState = (a: FileStat, b: FileStat): boolean =>
  a.size === b.size && a.mtime === b.mtime && a.ino === b.ino

/** The transcript among the files of a conversation: the one that was copied last, of those at the top. */
export function transcriptOf({ files }: ConversationRecord): StoredFile | undefined {
  const all = [...files.values()]
  const main = all.filter(({ name }) => /^[^/]+\.(?:jsonl(?:\.zst)?|json)$|^[^/]+\/events\.jsonl$/.test(name))
  return (main.length > 0 ? main : all).toSorted((a, b) => b.last.at - a.last.at)[0]
}

/** The directory of the vault in a home. */
export const vaultDirectory = (home: string): string => join(home, 'vault')

/** The ids of the conversations that the vault has of an agent. */
export const storedIds = (vault: string, agent: string): string[] =>
  listIfReadable(join(vault, agent)).filter(isSessionId)
