import { type Dirent, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { errorCode } from '../base/errors/stint-error.ts'
import { readSmallFile } from '../base/fs/regular-file.ts'
import { isString, parseObject } from '../base/text/fields.ts'
import { isSessionId } from '../base/text/id.ts'
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
  /** The transcript first. An agent can have one name in two directories, as two copies of a conversation. */
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
  const sources = [...finder.files].map(([id, files]): Source => {
    files.sort(byImportance)
    return { agent, id, root, files, ...(agent === 'codex' && { more: () => finder.basesOf(files) }) }
  })
  const traces = agent === 'codex' ? indexedIds(root) : [...finder.emptyDirectories]
  return { sources, traces: traces.filter((id) => !finder.files.has(id)), unread: finder.unread }
}

class Finder {
  /** The files of each conversation. */
  readonly files = new Map<string, SourceFile[]>()
  readonly emptyDirectories = new Set<string>()
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

  /** Adds the conversations whose transcripts are in this directory. */
  lookInto(directory: string): void {
    const { transcript, hasIdInside, transcriptInside } = places[this.agent]
    const entries = this.#entriesIn(directory)
    const ids = new Set<string>()
    for (const entry of entries.filter((each) => !each.isDirectory())) {
      const path = join(directory, entry.name)
      const [, idInName] = transcript.exec(entry.name) ?? []
      const id = (hasIdInside && idInName ? idInside(path) : undefined) ?? idInName
      if (idInName !== undefined && !entry.isFile()) this.unread.push({ path, error: 'link' })
      else if (id !== undefined && isSessionId(id)) {
        ids.add(id)
        this.#add(id, [{ name: entry.name, path }])
      }
    }
    for (const { name } of entries.filter((entry) => entry.isDirectory() && isSessionId(entry.name))) {
      // What is in the directory of a conversation, beside or instead of a transcript.
      const files = ids.has(name) || transcriptInside ? this.#filesBelow(directory, name) : []
      const hasTranscript = ids.has(name) || files.some((file) => file.name === `${name}/${transcriptInside}`)
      if (hasTranscript) this.#add(name, files)
      else if (!transcriptInside && isUuid.test(name)) this.emptyDirectories.add(name)
    }
  }

  #add(id: string, files: readonly SourceFile[]): void {
    this.files.set(id, [...(this.files.get(id) ?? []), ...files])
  }

  #filesBelow(base: string, inner: string): SourceFile[] {
    return this.#entriesIn(join(base, inner)).flatMap((entry) => {
      const name = `${inner}/${entry.name}`
      const path = join(base, name)
      if (entry.isDirectory()) return this.#filesBelow(base, name)
      if (entry.isSymbolicLink()) this.unread.push({ path, error: 'link' })
      return entry.isFile() && !places[this.agent].leftOut?.test(entry.name) ? [{ name, path }] : []
    })
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

/** The transcript before the files in the side directory, and `.jsonl` before what else there is. */
const byImportance = (a: SourceFile, b: SourceFile): number =>
  rank(a.name) - rank(b.name) || (a.name < b.name ? -1 : 1)

const rank = (name: string): number => {
  if (name.endsWith('/events.jsonl')) return 0
  return (name.includes('/') ? 2 : 0) + (/\.jsonl(?:\.zst)?$/.test(name) ? 0 : 1)
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
