import { homedir } from 'node:os'
import { join } from 'node:path'
import { ifPossible } from '../base/errors/if-possible.ts'
import { renameInto } from '../base/fs/atomic-file.ts'
import { hasEntries, lstatIfExists } from '../base/fs/exists.ts'
import { createPrivateFile } from '../base/fs/private-file.ts'
import { readSmallFile } from '../base/fs/regular-file.ts'
import { isNumber, isRecord, parseObject } from '../base/text/fields.ts'
import { type ConversationRecord, readRecord, storedIds } from './conversation-record.ts'
import { isExcluded, readExclusions } from './exclusions.ts'
import { findConversations, type Source } from './find-conversations.ts'
import { registerEnvironmentSecrets } from '../secrets/index.ts'
import { retentionMs, type VaultAgent, vaultAgents } from './places.ts'
import { readHead } from './read-conversation.ts'
import { summaryOf } from './transcript.ts'

/** A conversation in the vault. Times are in milliseconds since the epoch. */
export interface Conversation {
  agent: VaultAgent
  id: string
  record: ConversationRecord
  files: number
  /** Of all generations. */
  bytes: number
  generations: number
  /** The time of the transcript, now or when it was last copied. */
  last_at: number
  source: string
  /** When the agent, which has lost it, was last known to have it; null if the agent has it. */
  lost_after: number | null
  /** When the agent will delete it, unless it is continued. */
  due_at: number | null
}

const lookPath = (vault: string, agent: string): string => join(vault, agent, '.last-look.json')

/** When an agent's conversations were last looked at, 0 for never; and when those missing then were there. */
function readLook(vault: string, agent: string): { at: number; missing: Record<string, number> } {
  const { at, missing } = parseObject(readSmallFile(lookPath(vault, agent)) ?? '') ?? {}
  return {
    at: isNumber(at) ? at : 0,
    missing: isRecord(missing) ? (missing as Record<string, number>) : {},
  }
}

/** Notes which conversations an agent has now, if the vault has any of it. */
export function noteLook(vault: string, agent: string, at: number, ids: readonly string[]): void {
  const [stored, present] = [storedIds(vault, agent), new Set(ids)]
  if (stored.length === 0) return
  const last = readLook(vault, agent)
  const lost = stored.filter((id) => !present.has(id))
  const missing = Object.fromEntries(lost.map((id) => [id, last.missing[id] ?? last.at]))
  // Without a sync: after a power cut, the next look notes it again.
  renameInto(lookPath(vault, agent), (staged) => createPrivateFile(staged, JSON.stringify({ at, missing })))
}

/** The conversations in the vault, newest first. */
export function listConversations(
  vault: string,
  agents: readonly VaultAgent[] = vaultAgents,
): Conversation[] {
  const conversations = agents.flatMap((agent) => {
    const look = readLook(vault, agent)
    const retention = retentionMs(agent)
    return storedIds(vault, agent).flatMap((id): Conversation[] => {
      const record = readRecord(join(vault, agent, id))
      const last = record.transcript
      if (last === undefined) return []
      const present = ifPossible(() => lstatIfExists(last.source))
      const missingSince = look.missing[id]
      // An export of OpenCode has no source that stays.
      const isLost = agent === 'opencode' ? missingSince !== undefined : present === undefined
      return [
        {
          agent,
          id,
          record,
          files: record.files.size,
          bytes: record.bytes,
          generations: record.lastGeneration,
          last_at: Math.round(present?.mtimeMs ?? last.mtime ?? last.at),
          source: last.source,
          lost_after: isLost ? Math.max(missingSince ?? look.at, last.at) : null,
          due_at: present && retention !== undefined ? Math.round(present.mtimeMs + retention) : null,
        },
      ]
    })
  })
  return conversations.sort((a, b) => b.last_at - a.last_at)
}

/** What a conversation was about, with secrets, and where; by the beginning of its transcript. */
export function readConversationSummary({ agent, record }: Conversation) {
  const { transcript } = record
  return summaryOf(agent, transcript === undefined ? '' : readHead(record.pathOf(transcript)))
}

/** A conversation as JSON answers show it. */
export function describeConversation(conversation: Conversation) {
  const { record: _record, ...fields } = conversation
  const { title, workspace = null } = readConversationSummary(conversation)
  const { gate } = registerEnvironmentSecrets()
  return { ...fields, title: title === undefined ? null : gate.text(title).slice(0, 200), workspace }
}

/** A deletion that is nearer than this is due, in milliseconds. */
const soonMs = 7 * 86_400_000

/** Compares the vault with what the agents have. */
export function surveyVault(vault: string) {
  const conversations = listConversations(vault)
  const excluded = readExclusions(vault)
  const dueBy = Date.now() + soonMs
  const agents = vaultAgents.map((agent) => {
    const kept = conversations.filter((conversation) => conversation.agent === agent)
    const ids = new Set(kept.map(({ id }) => id))
    const { sources, traces } = findConversations(agent)
    const missing = sources.filter((source) => !ids.has(source.id) && !isExcluded(excluded, source))
    const lostAfter = kept.flatMap(({ lost_after }) => lost_after ?? [])
    const retention = retentionMs(agent) ?? Number.POSITIVE_INFINITY
    const isDue = ({ files: [transcript] }: Source): boolean =>
      (lstatIfExists(transcript?.path ?? '')?.mtimeMs ?? dueBy) + retention < dueBy
    return {
      agent,
      kept: kept.length,
      bytes: kept.reduce((sum, { bytes }) => sum + bytes, 0),
      /** Conversations that are not in the vault yet, and those of them that the agent will delete soon. */
      new: missing.length,
      due: missing.filter(isDue).length,
      /** Conversations that only the vault has, and when the last of them was still at its agent. */
      lost: lostAfter.length,
      lost_after: lostAfter.length > 0 ? Math.max(...lostAfter) : null,
      /** Conversations of which only traces are left, and nothing is in the vault. */
      gone: traces.filter((id) => !ids.has(id)).length,
      /** When all conversations of the agent were last looked at; null if they never were. */
      synced_at: readLook(vault, agent).at || null,
    }
  })
  return {
    agents: agents.filter((agent) => agent.kept + agent.new + agent.gone > 0),
    excluded,
    not_covered: hasEntries(join(homedir(), '.cursor/chats')) ? ['Cursor'] : [],
  }
}
