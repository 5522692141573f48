import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ifExists, listIfReadable } from '../base/fs/exists.ts'
import { stintHome } from '../base/fs/home.ts'
import { isCount, isNumber, isString, parseObject } from '../base/text/fields.ts'
import { isSessionId } from '../base/text/id.ts'

/** A line of `vault.jsonl`: a file in one of its generations, as it was last copied from a source. */
export interface CopyLine {
  at: number
  /** The name of the file in its generation. */
  file: string
  generation: number
  /** How many bytes are stored and synced; what the stored file has beyond them counts for nothing. */
  bytes: number
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

export class ConversationRecord {
  /** The copies of each file, by its name, oldest first. */
  readonly files = new Map<string, CopyLine[]>()

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
    const generations = [...this.files.values()].flatMap((copies) => [
      ...new Map(copies.map(({ generation, bytes }) => [generation, bytes])).values(),
    ])
    return generations.reduce((sum, bytes) => sum + bytes, 0)
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

  /** Adds a copy in place of the earlier one of this generation and source. */
  add(line: CopyLine): void {
    const isEarlier = ({ generation, source }: CopyLine): boolean =>
      generation === line.generation && source === line.source
    const others = this.files.get(line.file)?.filter((copy) => !isEarlier(copy)) ?? []
    this.files.set(line.file, [...others, line])
  }

  /** The contents of `vault.jsonl`. */
  toString(): string {
    return [...this.files.values()]
      .flat()
      .map((line) => `${JSON.stringify(line)}\n`)
      .join('')
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
  // As text: that is one call into Node, and a sync reads a record for each conversation.
  const text = ifExists(() => readFileSync(`${directory}/${recordName}`, 'utf8')) ?? ''
  for (const line of text.split('\n').map(parseObject))
    if (line !== undefined && isCopyLine(line)) record.add(line)
  return record
}

const isCopyLine = (line: object): line is CopyLine => {
  const { at, file, generation, bytes, sha256, source, root, size, mtime, ino } = line as CopyLine
  return (
    [generation, bytes, size, ino].every(isCount) &&
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
