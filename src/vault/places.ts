import { realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { ifPossible } from '../base/errors/if-possible.ts'
import { readSmallFile } from '../base/fs/regular-file.ts'
import { isCount, isRecord, isString, parseObject } from '../base/text/fields.ts'
import { parseDuration } from '../base/text/duration.ts'

/** Where an agent keeps its conversations, and how it finds one again. */
interface AgentPlace {
  /** The agent's own directory: the first of these whose variable is set. */
  roots: readonly string[]
  /** The directories with transcripts, below the agent's own; `*` is any name. */
  below: readonly string[]
  /** The files of a conversation there, and its directory, which ends with `/`; the first group is the id. */
  names: RegExp
  /** Files in the directory of a conversation that say nothing later: locks, and logs of databases. */
  leftOut?: RegExp
  /** The name of a transcript has only a part of the id; its first line has all of it. */
  hasIdInside?: true
  /** The command that continues a conversation, before its id. */
  resume?: string
  /** From the agent's settings, the days after which it deletes a conversation. */
  retentionDays?: (settings: Record<string, unknown>) => number | undefined
}

export const uuid = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'
const anyId = '[A-Za-z0-9][A-Za-z0-9._-]{0,127}'
const dayMs = 86_400_000

const agents = ['claude', 'codex', 'gemini', 'qwen', 'copilot', 'opencode'] as const
/** Every agent whose conversations the vault keeps. */
export const vaultAgents: readonly VaultAgent[] = agents
export type VaultAgent = (typeof agents)[number]

export const isVaultAgent = (name: string): name is VaultAgent => vaultAgents.some((agent) => agent === name)

export const places: Readonly<Record<VaultAgent, AgentPlace>> = {
  claude: {
    roots: ['$CLAUDE_CONFIG_DIR', '$HOME/.claude'],
    below: ['projects/*'],
    names: new RegExp(`^(${anyId})(?:\\.jsonl|/)$`),
    resume: 'claude --resume ',
    retentionDays: ({ cleanupPeriodDays: days }) => (isCount(days) && days > 0 ? days : 30),
  },
  codex: {
    roots: ['$CODEX_HOME', '$HOME/.codex'],
    below: ['sessions/*/*/*', 'archived_sessions', 'archived_sessions/*/*/*'],
    names: new RegExp(`^rollout-.{19}-(${uuid})(?:_(${uuid}))?\\.jsonl(?:\\.zst)?$`),
    resume: 'codex resume ',
  },
  gemini: {
    roots: ['$GEMINI_CLI_HOME/.gemini', '$HOME/.gemini'],
    below: ['tmp/*/chats'],
    names: new RegExp(`^(session-.+(?=\\.jsonl?$)|${anyId}(?=/$))`),
    hasIdInside: true,
    resume: 'gemini --resume ',
    retentionDays: geminiDays,
  },
  qwen: {
    roots: ['$QWEN_RUNTIME_DIR', '$QWEN_HOME', '$HOME/.qwen'],
    below: ['projects/*/chats', 'tmp/*/chats'],
    names: new RegExp(`^(${anyId}?)(?:\\.jsonl|\\.runtime\\.json|/)$`),
    resume: 'qwen --resume ',
  },
  copilot: {
    roots: ['$COPILOT_HOME', '$HOME/.copilot'],
    below: ['session-state'],
    names: new RegExp(`^(${anyId})(?:\\.jsonl|/)$`),
    leftOut: /\.lock$|-(?:wal|shm)$/,
    resume: 'copilot --resume=',
  },
  // It has a database, which its own command exports.
  opencode: { roots: [], below: [], names: /^$/ },
}

/** The variables that move the agents' own directories. */
export const placeVariables: readonly string[] = agents
  .flatMap((agent) => places[agent].roots.map((path) => path.replace(/^\$|\/.*/g, '')))
  .filter((name) => name !== 'HOME')

/** Gemini deletes after 30 days, unless its user has set another age or none. */
function geminiDays({ general }: Record<string, unknown>): number | undefined {
  const retention = isRecord(general) && isRecord(general.sessionRetention) ? general.sessionRetention : {}
  if (retention.enabled === false) return undefined
  const ms = isString(retention.maxAge) ? parseDuration(retention.maxAge) : undefined
  return ms === undefined ? 30 : ms / dayMs
}

/** The shell line that continues a conversation which its agent has; null if there is none. */
export const resumeCommand = ({ agent, id }: { agent: VaultAgent; id: string }): string | null => {
  const { resume } = places[agent]
  return resume === undefined ? null : `${resume}${id}`
}

/** The agent's own directory, its links resolved: people keep their dot directories elsewhere. */
export function agentRoot(agent: VaultAgent): string {
  const valueOf = (name: string): string => process.env[name] || (name === 'HOME' ? homedir() : 'unset')
  const paths = places[agent].roots.map((path) => path.replace(/^\$(\w+)/, (_, name) => valueOf(name)))
  const root = paths.find(isAbsolute) ?? homedir()
  return ifPossible(() => realpathSync.native(root)) ?? root
}

/** After how long an agent deletes a conversation that it has not written to, in milliseconds. */
export function retentionMs(agent: VaultAgent): number | undefined {
  const settings = readSmallFile(join(agentRoot(agent), 'settings.json'))
  const days = places[agent].retentionDays?.(parseObject(settings ?? '') ?? {})
  return days === undefined ? undefined : days * dayMs
}
