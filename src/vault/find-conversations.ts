import { type Dirent, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { errorCode } from '../base/errors/stint-error.ts'
import { readSmallFile } from '../base/fs/regular-file.ts'
import { isString, parseObject } from '../base/text/fields.ts'
import { isSessionId } from '../base/text/id.ts'
import { isTranscript } from './conversation-record.ts'
import { agentRoot, places, uuid, type VaultAgent } from './places.ts'
import { readHead } from './read-conversation.ts'

/** A file of an agent; `name` is relative to the directory that has the conversation. */
export interface SourceFile {
  name: string
  path: string
}

/** A conversation as an agent keeps it. */
export interface Source {
  agent: VaultAgent
  id: string
  /** The agent's own directory. */
  root: string
  /** Transcripts first. An agent can have one name in two directories, as two copies of a conversation. */
  files: SourceFile[]
  /** More files that the conversation needs, which takes a look into its transcript. */
  more?: () => SourceFile[]
  /** Of OpenCode, which has no files: when the session was last changed, in milliseconds since the epoch. */
  updated?: number
}

/** A path that was not read: a `link`, a `name` that is not valid UTF-8, or an error code. */
export interface Unread {
  path: string
  error: string
}

/** Finds all conversations of an agent; `traces` are the ids of those that have left no transcript. */
export function findConversations(agent: VaultAgent): {
  sources: Source[]
  traces: string[]
  unread: Unread[]
} {
  const root = agentRoot(agent)
  const finder = new Finder(agent)
  for (const pattern of places[agent].below)
    for (const directory of finder.expand(root, pattern)) finder.lookInto(directory)
  const isWhole = (id: string): boolean =>
    finder.files.get(id)?.some(({ name }) => isTranscript(name)) ?? false
  const sources = [...finder.files].flatMap(([id, files]): Source[] => {
    if (!isWhole(id)) return []
    files.sort((a, b) => Number(isTranscript(b.name)) - Number(isTranscript(a.name)))
    return [{ agent, id, root, files, ...(agent === 'codex' && { more: () => finder.basesOf(files) }) }]
  })
  const emptied = agent === 'claude' ? [...finder.files.keys()].filter((id) => isUuid.test(id)) : []
  const traces = [...indexedIds(root), ...emptied].filter((id) => !isWhole(id))
  return { sources, traces, unread: finder.unread }
}

class Finder {
  /** The files of each conversation; none for a directory that its agent has emptied. */
  readonly files = new Map<string, SourceFile[]>()
  readonly unread: Unread[] = []
  /** The rollouts of Codex by their ids, by which others name them. */
  #rollouts: Map<string, SourceFile> | undefined

  constructor(readonly agent: VaultAgent) {}

  /**
   * The directories that a pattern names. The agent's `projects` may be a link to another disk; a link
   * further down may lead anywhere, and is not followed.
   */
  expand(root: string, pattern: string): string[] {
    let directories = [root]
    for (const part of pattern.split('/'))
      directories = directories.flatMap((directory) =>
        this.#entriesIn(directory)
          .filter((entry) => part === '*' || part === entry.name)
          .filter((entry) => entry.isDirectory() || (entry.isSymbolicLink() && directory === root))
          .map(({ name }) => join(directory, name)),
      )
    return directories
  }

  /** Adds the files of the conversations in this directory. */
  lookInto(directory: string): void {
    const { names, hasIdInside } = places[this.agent]
    for (const entry of this.#entriesIn(directory)) {
      const [, idInName] = names.exec(entry.isDirectory() ? `${entry.name}/` : entry.name) ?? []
      if (idInName === undefined) continue
      const files = this.#filesOf(entry, directory, entry.name)
      const id = (hasIdInside && entry.isFile() && idInside(join(directory, entry.name))) || idInName
      if (isSessionId(id)) this.files.set(id, [...(this.files.get(id) ?? []), ...files])
    }
  }

  /** The file of an entry, or all files below it. */
  #filesOf(entry: Dirent, base: string, name: string): SourceFile[] {
    const path = join(base, name)
    if (entry.isDirectory())
      return this.#entriesIn(path).flatMap((inner) => this.#filesOf(inner, base, `${name}/${inner.name}`))
    if (entry.isSymbolicLink()) this.unread.push({ path, error: 'link' })
    return entry.isFile() && !places[this.agent].leftOut?.test(entry.name) ? [{ name, path }] : []
  }

  /** The entries of a directory whose names are valid; none if it cannot be listed. */
  #entriesIn(directory: string): Dirent[] {
    try {
      return readdirSync(directory, { withFileTypes: true }).filter(({ name }) => {
        const isValid = !name.includes('\ufffd')
        if (!isValid) this.unread.push({ path: join(directory, name), error: 'name' })
        return isValid
      })
    } catch (error) {
      const code = errorCode(error) ?? ''
      if (code !== 'ENOENT') this.unread.push({ path: directory, error: code })
      return []
    }
  }

  /** The rollouts that these continue, over any number of steps: Codex stores only what came after a base. */
  basesOf(files: readonly SourceFile[]): SourceFile[] {
    this.#rollouts ??= new Map([...this.files.values()].flat().map((file) => [rolloutId(file.name), file]))
    const queue = [...files]
    for (const { path } of queue) {
      const [, id = ''] =
        /"history_base"\s*:\s*\{[^{}]*?"thread_id"\s*:\s*"([^"\\]+)"/.exec(readHead(path, 256 << 10)) ?? []
      const base = this.#rollouts.get(id)
      if (base !== undefined && !queue.includes(base)) queue.push(base)
    }
    return queue.slice(files.length)
  }
}

/** The id in the first line of a transcript. */
const idInside = (path: string): string | undefined =>
  /"sessionId"\s*:\s*"([^"\\]+)"/.exec(readHead(path, 4096))?.[1]

const isUuid = new RegExp(`^${uuid}$`)
const lastUuid = new RegExp(`(${uuid})\\.jsonl`)

/** The id of a rollout is the last one in its name. */
const rolloutId = (name: string): string => lastUuid.exec(name)?.[1] ?? ''

/** The ids in Codex's own index of names. */
function indexedIds(root: string): string[] {
  const lines = (readSmallFile(join(root, 'session_index.jsonl')) ?? '').split('\n')
  return [...new Set(lines.map((line) => parseObject(line)?.id).filter(isString))].filter(isSessionId)
}
