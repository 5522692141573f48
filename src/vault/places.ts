import { realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, join, relative } from 'node:path'
import { ifPossible } from '../base/errors/if-possible.ts'
import { isWithin } from '../base/fs/paths.ts'
import { readSmallFile } from '../base/fs/regular-file.ts'
import { isCount, isRecord, isString, parseObject } from '../base/text/fields.ts'
import { parseDuration } from '../base/text/duration.ts'

/** Where an agent keeps its conversations, and how it finds one again. */
export interface AgentPlace {
  title: string
  /** The agent's own directory: the first of these whose variable is set. */
  roots: readonly string[]
  /** The directories with transcripts, below the agent's own; `*` is any name. */
  below: readonly string[]
  /** The name of a transcript; its first group is the id of the conversation. */
  transcript: RegExp
  /** The transcript is in the directory of the conversation, not beside it. */
  transcriptInside?: string
  /** Files in that directory that say nothing later: locks, and logs of databases. */
  leftOut?: RegExp
  /** The name of a transcript has only a part of the id; its first line has all of it. */
  hasIdInside?: true
  /** The command that continues a conversation. */
  resume: (id: string) => string
  /** The settings file, and the days in it after which the agent deletes a conversation. */
  retention?: { file: string; days: (settings: Record<string, unknown>) => number | undefined }
}

export const uuid = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'
const anyId = '[A-Za-z0-9][A-Za-z0-9._-]{0,127}'
const dayMs = 86_400_000

/** The agents whose conversations are files. OpenCode has a database, which its own command exports. */
export const places = {
  claude: {
    title: 'Claude Code',
    roots: ['$CLAUDE_CONFIG_DIR', '$HOME/.claude'],
    below: ['projects/*'],
    transcript: new RegExp(`^(${anyId})\\.jsonl$`),
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
    hasIdInside: true,
    resume: (id) => `gemini --resume ${id}`,
    retention: { file: 'settings.json', days: geminiDays },
  },
  qwen: {
    title: 'Qwen Code',
    roots: ['$QWEN_RUNTIME_DIR', '$QWEN_HOME', '$HOME/.qwen'],
    below: ['projects/*/chats', 'tmp/*/chats'],
    transcript: new RegExp(`^(${anyId}?)\\.(?:jsonl|runtime\\.json)$`),
    resume: (id) => `qwen --resume ${id}`,
  },
  copilot: {
    title: 'Copilot CLI',
    roots: ['$COPILOT_HOME', '$HOME/.copilot'],
    below: ['session-state'],
    transcript: new RegExp(`^(${anyId})\\.jsonl$`),
    transcriptInside: 'events.jsonl',
    leftOut: /\.lock$|-(?:wal|shm)$/,
    resume: (id) => `copilot --resume=${id}`,
  },
} as const satisfies Record<string, AgentPlace>

export type FileAgent = keyof typeof places
/** Every agent whose conversations the vault keeps. */
export const vaultAgents = [...(Object.keys(places) as FileAgent[]), 'opencode'] as const
export type VaultAgent = (typeof vaultAgents)[number]

export const isVaultAgent = (name: string): name is VaultAgent =>
  (vaultAgents as readonly string[]).includes(name)

export const titleOf = (agent: VaultAgent): string =>
  agent === 'opencode' ? 'OpenCode' : places[agent].title

/** The shell line that continues a conversation which its agent has; null if there is none. */
export const resumeCommand = ({ agent, id }: { agent: VaultAgent; id: string }): string | null =>
  agent === 'opencode' ? null : places[agent].resume(id)

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
export function retentionMs(agent: VaultAgent): number | undefined {
  if (agent === 'opencode') return undefined
  const { retention }: AgentPlace = places[agent]
  if (retention === undefined) return undefined
  const settings = readSmallFile(join(agentRoot(agent), retention.file))
  const days = retention.days(parseObject(settings ?? '') ?? {})
  return days === undefined ? undefined : days * dayMs
}

/** Where a file belongs in the agent's present directory, which may be another one than at its copy. */
export const placeNow = (source: string, root: string, rootNow: string): string =>
  isWithin(source, root) ? join(rootNow, relative(root, source)) : source
