import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ifExists, listIfReadable } from '../base/fs/exists.ts'
import { stintHome } from '../base/fs/home.ts'
import { isCount, isNumber, isString, parseObject } from '../base/text/fields.ts'
import { isSessionId } from '../base/text/id.ts'

/** A line of `vault.jsonl`: bytes of a file that were stored, and synced, before the line was written. */
export interface CopyLine {
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
  /** The source at its copy: a file with this size, time and inode is not read again. */
  size: number
  /** In milliseconds; null if the file has to be read again in any case. */
  mtime: number | null
  ino: number
}

/** A file of a conversation, in all its generations. */
export interface StoredFile {
  name: string
  /** The last copy of each generation, oldest first. */
  versions: Map<number, CopyLine>
  last: CopyLine
  /** The last copy of each source: two directories of an agent can have a conversation each. */
  bySource: Map<string, CopyLine>
}

/** How many bytes of its file were stored after this copy. */
export const storedBytes = ({ offset, length }: CopyLine): number => offset + length

export class ConversationRecord {
  readonly files = new Map<string, StoredFile>()
  /** The length of `vault.jsonl` up to its last whole line; what follows is torn. */
  end = 0

  constructor(readonly directory: string) {}

  get lastGeneration(): number {
    return Math.max(0, ...[...this.files.values()].map(({ last }) => last.generation))
  }

  /** The size of all generations. */
  get bytes(): number {
    const versions = [...this.files.values()].flatMap((file) => [...file.versions.values()])
    return versions.reduce((sum, version) => sum + storedBytes(version), 0)
  }

  /** The transcript among the files: the one that was copied last, of those at the top. */
  get transcript(): StoredFile | undefined {
    const all = [...this.files.values()]
    const main = all.filter(({ name }) => isTranscript(name))
    return (main.length > 0 ? main : all).toSorted((a, b) => b.last.at - a.last.at)[0]
  }

  pathOf = ({ generation, file }: { generation: number; file: string }): string =>
    join(this.directory, String(generation), file)

  add(line: CopyLine): void {
    const { file: name, generation, source } = line
    const file = this.files.get(name) ?? { name, versions: new Map(), last: line, bySource: new Map() }
    file.versions.set(generation, line)
    file.last = line
    file.bySource.set(source, line)
    this.files.set(name, file)
  }
}

/** Is this the name of a transcript, and not of a file that belongs to one? */
export const isTranscript = (name: string): boolean =>
  /^[^/]+(?:\.jsonl|\.jsonl\.zst|(?<!\.runtime)\.json)$|^[^/]+\/events\.jsonl$/.test(name)

/** The name of the record in the directory of a conversation. */
export const recordName = 'vault.jsonl'

/** Reads the record of a conversation; one without lines if there is none. */
export function readRecord(directory: string): ConversationRecord {
  const record = new ConversationRecord(directory)
  const path = `${directory}/${recordName}`
  // As text: that is one call into Node, and a sync reads a record for each conversation.
  const text = ifExists(() => readFileSync(path, 'utf8')) ?? ''
  const lines = text.split('\n').slice(0, -1)
  // Damaged bytes have another length as text.
  record.end = text.includes('\ufffd')
    ? readFileSync(path).lastIndexOf('\n') + 1
    : Buffer.byteLength(text.slice(0, text.lastIndexOf('\n') + 1))
  for (const line of lines.map(parseObject)) if (line !== undefined && isCopyLine(line)) record.add(line)
  return record
}

const isCopyLine = (line: object): line is CopyLine => {
  const { at, file, generation, offset, length, sha256, source, root, size, mtime, ino } = line as CopyLine
  return (
    [generation, offset, length, size, ino].every(isCount) &&
    [at, mtime ?? 0].every(isNumber) &&
    [file, sha256, source, root].every(isString) &&
    isSafeName(file)
  )
}

/** Does this name stay within the directory that it is joined to? */
const isSafeName = (name: string): boolean => !/\0|(?:^|\/)\.{0,2}(?:\/|$)/.test(name)

/** The directory of the vault in a home. */
export const vaultDirectory = (home: string = stintHome()): string => join(home, 'vault')

/** The ids of the conversations that the vault has of an agent. */
export const storedIds = (vault: string, agent: string): string[] =>
  listIfReadable(join(vault, agent)).filter(isSessionId)
