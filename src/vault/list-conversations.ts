import { lstatSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { ifPossible } from '../base/errors/if-possible.ts'
import { hasEntries, lstatIfExists } from '../base/fs/exists.ts'
import {
  type ConversationRecord,
  readRecord,
  recordName,
  type StoredFile,
  storedIds,
  transcriptOf,
} from './conversation-record.ts'
import {
  findConversations,
  placeOf,
  retentionMs,
  agentRoot,
  type FileAgent,
  type VaultAgent,
  vaultAgents,
} from './places.ts'
import type { Source } from './copy-conversation.ts'
import { isExcluded, readExclusions } from './exclusions.ts'
import { headBytes, lastSyncAt } from './sync.ts'
import { summaryOf } from './transcript.ts'
import { readHead } from './read-conversation.ts'

/** A conversation in the vault. */
export interface Conversation {
  agent: VaultAgent
  id: string
  title?: string
  workspace?: string
  files: number
  /** Of all generations. */
  bytes: number
  generations: number
  /** The time of the transcript when it was last copied, in milliseconds since the epoch. */
  lastAt: number
  source: string
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
    const retention = placeOf(agent) && retentionMs(agent, agentRoot(agent as FileAgent))
    return storedIds(vault, agent).flatMap((id) => {
      const record = readRecord(join(vault, agent, id))
      const transcript = transcriptOf(record)
      return transcript === undefined ? [] : [describe(agent, id, record, transcript, retention)]
    })
  })
  return conversations.sort((a, b) => b.lastAt - a.lastAt)
}

function describe(
  agent: VaultAgent,
  id: string,
  record: ConversationRecord,
  { name, last }: StoredFile,
  retention: number | undefined,
): Conversation {
  const files = [...record.files.values()]
  const head = ifPossible(() => readHead(record.pathOf(name, last.generation), headBytes)) ?? ''
  const present = agent === 'opencode' ? undefined : ifPossible(() => lstatIfExists(last.source))
  const isLost = agent !== 'opencode' && present === undefined
  const lostAfter = isLost ? Math.round(lstatSync(join(record.directory, recordName)).mtimeMs) : undefined
  return {
    agent,
    id,
    ...summaryOf(agent, head),
    files: files.length,
    bytes: files.flatMap(({ versions }) => versions).reduce((sum, { length }) => sum + length, 0),
    generations: record.lastGeneration,
    lastAt: Math.round(present?.mtimeMs ?? last.mtime ?? last.at),
    source: last.source,
    ...(lostAfter !== undefined && { lostAfter }),
    ...(present !== undefined &&
      retention !== undefined && { dueAt: Math.round(present.mtimeMs + retention) }),
  }
}

/** What the vault has of an agent, and what it has not. */
interface AgentSurvey {
  agent: VaultAgent
  kept: number
  bytes: number
  /** Conversations that are not in the vault yet. */
  new: number
  /** Conversations that the agent will delete soon, and that are not in the vault. */
  due: number
  /** Conversations that only the vault has. */
  lost: number
  /** Conversations of which only traces are left, and nothing is in the vault. */
  gone: number
}

/** Compares the vault with what the agents have. `dueBy` is the time until which a deletion is soon. */
export function surveyVault(vault: string, dueBy: number) {
  const conversations = listConversations(vault)
  const excluded = readExclusions(vault)
  const agents = vaultAgents.map((agent): AgentSurvey => {
    const own = conversations.filter((each) => each.agent === agent)
    const ids = new Set(own.map(({ id }) => id))
    const isFile = agent !== 'opencode'
    const { sources, traces } = isFile
      ? findConversations(agent, agentRoot(agent))
      : { sources: [], traces: [] }
    const missing = sources.filter((source) => !ids.has(source.id) && !isExcluded(excluded, source))
    const retention = isFile ? retentionMs(agent, agentRoot(agent)) : undefined
    const isDue = ({ files }: Source): boolean =>
      retention !== undefined && (lstatIfExists(files[0]?.path ?? '')?.mtimeMs ?? dueBy) + retention < dueBy
    return {
      agent,
      kept: own.length,
      bytes: own.reduce((sum, { bytes }) => sum + bytes, 0),
      new: missing.length,
      due: missing.filter(isDue).length,
      lost: own.filter(({ lostAfter }) => lostAfter !== undefined).length,
      gone: traces.filter((id) => !ids.has(id)).length,
    }
  })
  return {
    agents: agents.filter((each) => each.kept + each.new + each.gone > 0),
    last_sync: lastSyncAt(vault),
    excluded,
    not_covered: hasEntries(join(homedir(), '.cursor/chats')) ? ['Cursor'] : [],
  }
}
