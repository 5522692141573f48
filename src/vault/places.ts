import { type Dirent, readdirSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, join, relative } from 'node:path'
import { ifPossible } from '../base/errors/if-possible.ts'
import { errorCode } from '../base/errors/stint-error.ts'
import { isWithin } from '../base/fs/paths.ts'
import { readSmallFile } from '../base/fs/regular-file.ts'
import { isCount, isRecord, isString, parseObject } from '../base/text/fields.ts'
import { isSessionId } from '../base/text/id.ts'
import { parseDuration } from '../base/text/duration.ts'
import type { Source, SourceFile } from './copy-conversation.ts'
import { readHead } from './read-conversation.ts'

/** Where an agent keeps its conversations, and how it finds one again. */
interface Place {
  title: string
  /** The agent's own directory: the first of these whose variable is set. */
  roots: readonly string[]
  /** The directories with transcripts, below the agent's own; `*` is any name. */
  below: readonly string[]
  /** The name of a transcript; its first group is the id of the conversation. */
  transcript: RegExp
  /** The directory of the same name as the id, beside the transcript, belongs to the conversation. */
  hasSideDirectory?: true
  /** The transcript in that directory, where there is none beside it. */
  transcriptInside?: string
  /** Files in it that say nothing later: locks, and logs of databases. */
  leftOut?: RegExp
  /** The name of a transcript has only a part of the id; its first line has all of it. */
  hasIdInside?: true
  /** The command that continues a conversation. */
  resume: (id: string) => string
  /** The settings file, and the days in it after which the agent deletes a conversation. */
  retention?: { file: string; days: (settings: Record<string, unknown>) => number | undefined }
}

const uuid = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'
const anyId = '[A-Za-z0-9][A-Za-z0-9._-]{0,127}'
const dayMs = 86_400_000

/** The agents whose conversations are files. OpenCode has a database, which its own command exports. */
export const places = {
  claude: {
    title: 'Claude Code',
    roots: ['$CLAUDE_CONFIG_DIR', '$HOME/.claude'],
    below: ['projects/*'],
    transcript: new RegExp(`^(${anyId})\\.jsonl$`),
    hasSideDirectory: true,
    resume: (id) => `claude --resume ${id}`,
    retention: {
      file: 'settings.json',
      days: ({ cleanupPeriodDays: days }) => (isCount(days) && days > 0 ? days : 30),
    },
  },
  codex: {
    title: 'Codex',
    roots: ['$CODEX_HOME', '$HOME/.codex'],
    below: ['sessions/*/*/*', 'archived_sessions', 'archived_sessions/*/*/*'],
    transcript: new RegExp(`^rollout-.{19}-(${uuid})(?:_(${uuid}))?\\.jsonl(?:\\.zst)?$`),
    resume: (id) => `codex resume ${id}`,
  },
  gemini: {
    title: 'Gemini CLI',
    roots: ['$GEMINI_CLI_HOME/.gemini', '$HOME/.gemini'],
    below: ['tmp/*/chats'],
    transcript: /^(session-.+)\.jsonl?$/,
    hasSideDirectory: true,
    hasIdInside: true,
    resume: (id) => `gemini --resume ${id}`,
    retention: { file: 'settings.json', days: geminiDays },
  },
  qwen: {
    title: 'Qwen Code',
    roots: ['$QWEN_RUNTIME_DIR', '$QWEN_HOME', '$HOME/.qwen'],
    below: ['projects/*/chats', 'tmp/*/chats'],
    transcript: new RegExp(`^(${anyId}?)\\.(?:jsonl|runtime\\.json)$`),
    hasSideDirectory: true,
    resume: (id) => `qwen --resume ${id}`,
  },
  copilot: {
    title: 'Copilot CLI',
    roots: ['$COPILOT_HOME', '$HOME/.copilot'],
    below: ['session-state'],
    transcript: new RegExp(`^(${anyId})\\.jsonl$`),
    hasSideDirectory: true,
    transcriptInside: 'events.jsonl',
    leftOut: /\.lock$|-(?:wal|shm)$/,
    resume: (id) => `copilot --resume=${id}`,
  },
} as const satisfies Record<string, Place>

export type FileAgent = keyof typeof places
/** Every agent whose conversations the vault keeps. */
export const vaultAgents = [...(Object.keys(places) as FileAgent[]), 'opencode'] as const
export type VaultAgent = (typeof vaultAgents)[number]

export const isVaultAgent = (name: string): name is VaultAgent =>
  (vaultAgents as readonly string[]).includes(name)

export const titleOf = (agent: VaultAgent): string =>
  agent === 'opencode' ? 'OpenCode' : places[agent].title

export const placeOf = (agent: string): Place | undefined =>
  Object.hasOwn(places, agent) ? places[agent as FileAgent] : undefined

/** Gemini deletes after 30 days, unless its user has set another age or none. */
function geminiDays({ general }: Record<string, unknown>): number | undefined {
  const retention = isRecord(general) && isRecord(general.sessionRetention) ? general.sessionRetention : {}
  if (retention.enabled === false) return undefined
  const ms = isString(retention.maxAge) ? parseDuration(retention.maxAge) : undefined
  return ms === undefined ? 30 : ms / dayMs
}

/** The agent's own directory, its links resolved: people keep their dot directories elsewhere. */
export function agentRoot(agent: FileAgent, env: NodeJS.ProcessEnv = process.env): string {
  const valueOf = (name: string): string => env[name] || (name === 'HOME' ? homedir() : 'unset')
  const paths = places[agent].roots.map((path) => path.replace(/^\$(\w+)/, (_, name) => valueOf(name)))
  const root = paths.find(isAbsolute) ?? homedir()
  return ifPossible(() => realpathSync.native(root)) ?? root
}

/** After how long an agent deletes a conversation that it has not written to, in milliseconds. */
export function retentionMs(agent: string, root: string): number | undefined {
  const retention = placeOf(agent)?.retention
  if (retention === undefined) return undefined
  const days = retention.days(parseObject(readSmallFile(join(root, retention.file)) ?? '{}') ?? {})
  return days === undefined ? undefined : days * dayMs
}

/** What a look into an agent's directories has found. */
export interface Findings {
  sources: Source[]
  /** Ids of conversations of which the agent has left no transcript. */
  traces: string[]
  /** Paths that were not followed: a `link`, a name that is not valid UTF-8, or an error code. */
  skipped: Skipped[]
}

export interface Skipped {
  path: string
  error: string
}

/** Finds all conversations of an agent. */
export function findConversations(agent: FileAgent, root: string): Findings {
  const findings: Findings = { sources: [], traces: [], skipped: [] }
  const byId = new Map<string, Source>()
  const rollouts = new Map<string, SourceFile>()
  for (const directory of places[agent].below.flatMap((pattern) => expand(root, pattern, findings)))
    for (const source of conversationsIn(agent, root, directory, findings)) {
      const { id, files } = source
      const known = byId.get(`${id} ${agent === 'codex' ? '' : directory}`)
      if (known === undefined) byId.set(`${id} ${agent === 'codex' ? '' : directory}`, source)
      else known.files.push(...files)
      if (agent === 'codex') for (const file of files) rollouts.set(rolloutId(file.name), file)
    }
  findings.sources = [...byId.values()]
  if (agent === 'codex') {
    for (const source of findings.sources) source.more = () => basesOf(source.files, rollouts)
    findings.traces = indexedIds(root).filter((id) => !byId.has(`${id} `))
  }
  return findings
}

/** The directories that a pattern names; links are not followed. */
function expand(root: string, pattern: string, { skipped }: Findings): string[] {
  let directories = [root]
  for (const part of pattern.split('/'))
    directories = directories.flatMap((directory) =>
      entriesIn(directory, skipped)
        .filter(
          (entry) => (part === '*' || part === entry.name) && isDirectoryOrRootLink(entry, directory, root),
        )
        .map(({ name }) => join(directory, name)),
    )
  return directories
}

/** The agent's `projects` may be a link to another disk; a link further down may lead anywhere. */
const isDirectoryOrRootLink = (entry: Dirent, directory: string, root: string): boolean =>
  entry.isDirectory() || (entry.isSymbolicLink() && directory === root)

/** The entries of a directory whose names are valid; none if it cannot be listed. */
function entriesIn(directory: string, skipped: Skipped[]): Dirent[] {
  try {
    const entries = readdirSync(directory, { withFileTypes: true })
    const invalid = entries.filter(({ name }) => name.includes('\ufffd'))
    skipped.push(...invalid.map(({ name }) => ({ path: join(directory, name), error: 'name' })))
    return entries.filter((entry) => !invalid.includes(entry))
  } catch (error) {
    const code = errorCode(error) ?? ''
    if (code !== 'ENOENT') skipped.push({ path: directory, error: code })
    return []
  }
}

/** The conversations whose transcripts are in this directory. */
function conversationsIn(agent: FileAgent, root: string, directory: string, findings: Findings): Source[] {
  const place: Place = places[agent]
  const entries = entriesIn(directory, findings.skipped)
  const sources = new Map<string, Source>()
  const sourceOf = (id: string): Source => {
    const source = sources.get(id) ?? { agent, id, root, files: [] }
    sources.set(id, source)
    return source
  }
  for (const entry of entries) {
    const path = join(directory, entry.name)
    const match = place.transcript.exec(entry.name)
    if (entry.isSymbolicLink() && match !== null) findings.skipped.push({ path, error: 'link' })
    if (!entry.isFile() || match?.[1] === undefined) continue
    const id = place.hasIdInside ? (idInside(path) ?? match[1]) : match[1]
    if (isSessionId(id)) sourceOf(id).files.push({ name: entry.name, path })
  }
  if (place.hasSideDirectory)
    for (const { name } of entries.filter((entry) => entry.isDirectory() && isSessionId(entry.name))) {
      const files = [...filesBelow(directory, name, place.leftOut, findings.skipped)]
      const hasTranscript =
        sources.has(name) || files.some((file) => file.name === `${name}/${place.transcriptInside}`)
      if (hasTranscript) sourceOf(name).files.push(...files)
      else if (agent === 'claude') findings.traces.push(name)
    }
  for (const source of sources.values()) source.files.sort(byImportance)
  return [...sources.values()]
}

/** The transcript before the files in the side directory, and `.jsonl` before what else there is. */
const byImportance = (a: SourceFile, b: SourceFile): number =>
  rank(a.name) - rank(b.name) || (a.name < b.name ? -1 : 1)

const rank = (name: string): number => {
  const isTranscript = /\.jsonl(\.zst)?$/.test(name)
  if (name.endsWith('/events.jsonl')) return 0
  return (name.includes('/') ? 2 : 0) + (isTranscript ? 0 : 1)
}

function* filesBelow(
  base: string,
  inner: string,
  leftOut: RegExp | undefined,
  skipped: Skipped[],
): Generator<SourceFile> {
  for (const entry of entriesIn(join(base, inner), skipped)) {
    const name = `${inner}/${entry.name}`
    if (entry.isDirectory()) yield* filesBelow(base, name, leftOut, skipped)
    else if (entry.isFile() && !leftOut?.test(entry.name)) yield { name, path: join(base, name) }
    else if (entry.isSymbolicLink()) skipped.push({ path: join(base, name), error: 'link' })
  }
}

/** The id in the first line of a transcript. */
const idInside = (path: string): string | undefined => {
  const [, id] = /"sessionId"\s*:\s*"([^"\\]+)"/.exec(ifPossible(() => readHead(path, 4096)) ?? '') ?? []
  return id !== undefined && isSessionId(id) ? id : undefined
}

/** The id of a rollout is the last one in its name; another rollout names it as its base by this id. */
const rolloutId = (name: string): string => new RegExp(`(${uuid})\\.jsonl`).exec(name)?.[1] ?? ''

/** The rollouts that these continue: Codex stores only what came after the base. */
function basesOf(files: readonly SourceFile[], rollouts: ReadonlyMap<string, SourceFile>): SourceFile[] {
  const bases: SourceFile[] = []
  for (const { path } of files) collect(path)
  return bases
  function collect(path: string): void {
    const head = ifPossible(() => readHead(path, 256 << 10)) ?? ''
    const [, id = ''] = /"history_base"\s*:\s*\{[^{}]*?"thread_id"\s*:\s*"([^"\\]+)"/.exec(head) ?? []
    const base = rollouts.get(id)
    if (base === undefined || [...files, ...bases].some((each) => each.path === base.path)) return
    bases.push(base)
    collect(base.path)
  }
}

/** The ids in Codex's own index of names. */
function indexedIds(root: string): string[] {
  const lines = (readSmallFile(join(root, 'session_index.jsonl')) ?? '').split('\n')
  const ids = lines.map((line) => parseObject(line)?.id).filter(isString)
  return [...new Set(ids)].filter(isSessionId)
}

/** Where a file belongs in the agent's present directory, which may be another one than at its copy. */
export const placeNow = (source: string, root: string, rootNow: string): string =>
  isWithin(source, root) ? join(rootNow, relative(root, source)) : source
