import { homedir } from 'node:os'
import { join } from 'node:path'
import { ifPossible } from '../base/errors/if-possible.ts'
import { hasEntries, lstatIfExists } from '../base/fs/exists.ts'
import { type ConversationRecord, readRecord, storedIds, transcriptOf } from './conversation-record.ts'
import { isExcluded, readExclusions } from './exclusions.ts'
import { findConversations, type Source } from './find-conversations.ts'
import { type LastLook, readLastLook } from './last-look.ts'
import { agentRoot, retentionMs, type VaultAgent, vaultAgents } from './places.ts'
import { headBytes, readHead } from './read-conversation.ts'
import { type Summary, summaryOf } from './transcript.ts'

/** A conversation in the vault. */
export interface Conversation {
  agent: VaultAgent
  id: string
  files: number
  /** Of all generations. */
  bytes: number
  generations: number
  /** The time of the transcript when it was last copied, in milliseconds since the epoch. */
  lastAt: number
  source: string
  /** Its transcript in the vault. */
  path: string
  /** The agent has lost it: then when it was last known to be there. */
  lostAfter?: number
  /** When the agent will delete it, unless it is continued. */
  dueAt?: number
}

/** The conversations in the vault, newest first. */
export function listConversations(
  vault: string,
  agents: readonly VaultAgent[] = vaultAgents,
): Conversation[] {
  const conversations = agents.flatMap((agent) => {
    const look = readLastLook(vault, agent)
    const retention = retentionMs(agent)
    return storedIds(vault, agent).flatMap(
      (id) => describe(agent, id, readRecord(join(vault, agent, id)), look, retention) ?? [],
    )
  })
  return conversations.sort((a, b) => b.lastAt - a.lastAt)
}

function describe(
  agent: VaultAgent,
  id: string,
  record: ConversationRecord,
  look: LastLook,
  retention: number | undefined,
): Conversation | undefined {
  const transcript = transcriptOf(record)
  if (transcript === undefined) return undefined
  const { name, last } = transcript
  const present = ifPossible(() => lstatIfExists(last.source))
  const isLost = agent === 'opencode' ? id in look.lost : present === undefined
  const versions = [...record.files.values()].flatMap((file) => [...file.versions.values()])
  return {
    agent,
    id,
    files: record.files.size,
    bytes: versions.reduce((sum, { length }) => sum + length, 0),
    generations: record.lastGeneration,
    lastAt: Math.round(present?.mtimeMs ?? last.mtime ?? last.at),
    source: last.source,
    path: record.pathOf(name, last.generation),
    ...(isLost && { lostAfter: Math.round(look.lost[id] ?? Math.max(look.at, last.at)) }),
    ...(present && retention !== undefined && { dueAt: Math.round(present.mtimeMs + retention) }),
  }
}

/** What a conversation was about, and where; by the beginning of its transcript. */
export const readConversationSummary = ({ agent, path }: Pick<Conversation, 'agent' | 'path'>): Summary =>
  summaryOf(agent, ifPossible(() => readHead(path, headBytes)) ?? '')

/** What the vault has of an agent, and what it has not. */
interface AgentSurvey {
  agent: VaultAgent
  kept: number
  bytes: number
  /** Conversations that are not in the vault yet. */
  new: number
  /** Conversations that the agent will delete soon, and that are not in the vault. */
  due: number
  /** Conversations that only the vault has, and when the last of them was still at its agent. */
  lost: number
  lost_after: number | null
  /** Conversations of which only traces are left, and nothing is in the vault. */
  gone: number
  /** When all conversations of the agent were last looked at; null if they never were. */
  synced_at: number | null
}

/** Compares the vault with what the agents have. `dueBy` is the time until which a deletion is soon. */
export function surveyVault(vault: string, dueBy: number) {
  const conversations = listConversations(vault)
  const excluded = readExclusions(vault)
  const agents = vaultAgents.map((agent): AgentSurvey => {
    const kept = conversations.filter((each) => each.agent === agent)
    const ids = new Set(kept.map(({ id }) => id))
    const { sources, traces } =
      agent === 'opencode' ? { sources: [], traces: [] } : findConversations(agent, agentRoot(agent))
    const missing = sources.filter((source) => !ids.has(source.id) && !isExcluded(excluded, source))
    const lostAfter = kept.flatMap((each) => each.lostAfter ?? [])
    const retention = retentionMs(agent)
    const isDue = ({ files }: Source): boolean =>
      retention !== undefined && (lstatIfExists(files[0]?.path ?? '')?.mtimeMs ?? dueBy) + retention < dueBy
    return {
      agent,
      kept: kept.length,
      bytes: kept.reduce((sum, { bytes }) => sum + bytes, 0),
      new: missing.length,
      due: missing.filter(isDue).length,
      lost: lostAfter.length,
      lost_after: lostAfter.length > 0 ? Math.max(...lostAfter) : null,
      gone: traces.filter((id) => !ids.has(id)).length,
      synced_at: readLastLook(vault, agent).at || null,
    }
  })
  return {
    agents: agents.filter((each) => each.kept + each.new + each.gone > 0),
    excluded,
    not_covered: hasEntries(join(homedir(), '.cursor/chats')) ? ['Cursor'] : [],
  }
}
