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

/** How many bytes of its file were stored after this copy. */
export const storedBytes = ({ offset, length }: CopyLine): number => offset + length

export class ConversationRecord {
  /** The copies of each file, by its name, oldest first. */
  readonly files = new Map<string, CopyLine[]>()
  /** The length of `vault.jsonl` up to its last whole line; what follows is torn. */
  end = 0

  constructor(readonly directory: string) {}

  /** The last copy of each file. */
  get newest(): CopyLine[] {
    return [...this.files.values()].flatMap((copies) => copies.at(-1) ?? [])
  }

  get lastGeneration(): number {
    return Math.max(0, ...this.newest.map(({ generation }) => generation))
  }

  /** The size of all generations. */
  get bytes(): number {
    return [...this.files.values()].flat().reduce((sum, { length }) => sum + length, 0)
  }

  /** The last copy of the transcript: of the files at the top, the one that was copied last. */
  get transcript(): CopyLine | undefined {
    const transcripts = this.newest.filter(({ file }) => isTranscript(file))
    return (transcripts.length > 0 ? transcripts : this.newest).toSorted((a, b) => b.at - a.at)[0]
  }

  /** The last copy of a file from this source: two directories of an agent can have a conversation each. */
  copyFrom({ name, path }: { name: string; path: string }): CopyLine | undefined {
    return this.files.get(name)?.findLast(({ source }) => source === path)
  }

  pathOf = ({ generation, file }: { generation: number; file: string }): string =>
    join(this.directory, String(generation), file)

  add(line: CopyLine): void {
    const copies = this.files.get(line.file)
    if (copies === undefined) this.files.set(line.file, [line])
    else copies.push(line)
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
