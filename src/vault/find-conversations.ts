import { type Dirent, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { ifPossible } from '../base/errors/if-possible.ts'
import { errorCode } from '../base/errors/stint-error.ts'
import { readSmallFile } from '../base/fs/regular-file.ts'
import { isString, parseObject } from '../base/text/fields.ts'
import { isSessionId } from '../base/text/id.ts'
import { type FileAgent, type AgentPlace, places, uuid } from './places.ts'
import { readHead } from './read-conversation.ts'

/** A file of an agent. */
export interface SourceFile {
  /** Relative to the directory that has the conversation. */
  name: string
  path: string
}

/** A conversation as an agent keeps it. */
export interface Source {
  agent: string
  id: string
  /** The agent's own directory. */
  root: string
  /** The transcript first. An agent can have one name in two directories, as two copies of a conversation. */
  files: SourceFile[]
  /** More files that the conversation needs, which takes a look into its transcript. */
  more?: () => SourceFile[]
}

/** A path that was not read: a `link`, a `name` that is not valid UTF-8, or an error code. */
export interface Unread {
  path: string
  error: string
}

/** What a look into an agent's directories has found. */
export interface Findings {
  sources: Source[]
  /** Ids of conversations of which the agent has left no transcript. */
  traces: string[]
  unread: Unread[]
}

/** Finds all conversations of an agent. */
export function findConversations(agent: FileAgent, root: string): Findings {
  const place: AgentPlace = places[agent]
  const finder = new Finder(place)
  for (const pattern of place.below)
    for (const directory of finder.expand(root, pattern)) finder.lookInto(directory)
  const sources = [...finder.files].map(([id, files]): Source => {
    files.sort(byImportance)
    return { agent, id, root, files, ...(agent === 'codex' && { more: () => finder.basesOf(files) }) }
  })
  const named = agent === 'codex' ? indexedIds(root) : [...finder.emptyDirectories]
  return { sources, traces: named.filter((id) => !finder.files.has(id)), unread: finder.unread }
}

class Finder {
  /** The files of each conversation. */
  readonly files = new Map<string, SourceFile[]>()
  readonly emptyDirectories = new Set<string>()
  readonly unread: Unread[] = []
  /** The rollouts of Codex by their ids, by which others name them. */
  #rollouts: Map<string, SourceFile> | undefined

  constructor(readonly place: AgentPlace) {}

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
    const entries = this.#entriesIn(directory)
    const ids = new Set<string>()
    for (const entry of entries) {
      const path = join(directory, entry.name)
      const [, idInName] = this.place.transcript.exec(entry.name) ?? []
      if (idInName === undefined || entry.isDirectory()) continue
      if (!entry.isFile()) {
        this.unread.push({ path, error: 'link' })
        continue
      }
      const id = (this.place.hasIdInside ? idInside(path) : undefined) ?? idInName
      if (!isSessionId(id)) continue
      ids.add(id)
      this.#add(id, { name: entry.name, path })
    }
    for (const { name } of entries.filter((entry) => entry.isDirectory() && isSessionId(entry.name)))
      if (ids.has(name) || this.place.transcriptInside) this.#addBeside(directory, name, ids.has(name))
      else if (isUuid.test(name)) this.emptyDirectories.add(name)
  }

  /** Adds what is in the directory of a conversation, beside or instead of a transcript. */
  #addBeside(directory: string, id: string, hasTranscript: boolean): void {
    const files = [...this.#filesBelow(directory, id)]
    const inside = `${id}/${this.place.transcriptInside}`
    if (hasTranscript || files.some(({ name }) => name === inside))
      for (const file of files) this.#add(id, file)
  }

  #add(id: string, file: SourceFile): void {
    const files = this.files.get(id)
    if (files === undefined) this.files.set(id, [file])
    else files.push(file)
  }

  *#filesBelow(base: string, inner: string): Generator<SourceFile> {
    for (const entry of this.#entriesIn(join(base, inner))) {
      const name = `${inner}/${entry.name}`
      const path = join(base, name)
      if (entry.isDirectory()) yield* this.#filesBelow(base, name)
      else if (entry.isSymbolicLink()) this.unread.push({ path, error: 'link' })
      else if (entry.isFile() && !this.place.leftOut?.test(entry.name)) yield { name, path }
    }
  }

  /** The entries of a directory whose names are valid; none if it cannot be listed. */
  #entriesIn(directory: string): Dirent[] {
    try {
      const entries = readdirSync(directory, { withFileTypes: true })
      const isValid = ({ name }: Dirent): boolean => !name.includes('\ufffd')
      for (const { name } of entries)
        if (name.includes('\ufffd')) this.unread.push({ path: join(directory, name), error: 'name' })
      return entries.filter(isValid)
    } catch (error) {
      const code = errorCode(error) ?? ''
      if (code !== 'ENOENT') this.unread.push({ path: directory, error: code })
      return []
    }
  }

  /** The rollouts that these continue, over any number of steps: Codex stores only what came after a base. */
  basesOf(files: readonly SourceFile[]): SourceFile[] {
    this.#rollouts ??= new Map([...this.files.values()].flat().map((file) => [rolloutId(file.name), file]))
    const bases = new Set<SourceFile>()
    const queue = [...files]
    for (const { path } of queue) {
      const head = ifPossible(() => readHead(path, 256 << 10)) ?? ''
      const [, id = ''] = /"history_base"\s*:\s*\{[^{}]*?"thread_id"\s*:\s*"([^"\\]+)"/.exec(head) ?? []
      const base = this.#rollouts.get(id)
      if (base === undefined || queue.includes(base)) continue
      bases.add(base)
      queue.push(base)
    }
    return [...bases]
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
  /"sessionId"\s*:\s*"([^"\\]+)"/.exec(ifPossible(() => readHead(path, 4096)) ?? '')?.[1]

const isUuid = new RegExp(`^${uuid}$`)
const lastUuid = new RegExp(`(${uuid})\\.jsonl`)

/** The id of a rollout is the last one in its name. */
const rolloutId = (name: string): string => lastUuid.exec(name)?.[1] ?? ''

/** The ids in Codex's own index of names. */
function indexedIds(root: string): string[] {
  const lines = (readSmallFile(join(root, 'session_index.jsonl')) ?? '').split('\n')
  const ids = lines.map((line) => parseObject(line)?.id).filter(isString)
  return [...new Set(ids)].filter(isSessionId)
}
