/**
 * Transcripts of the Claude Agent SDK in sessions: each batch is on disk, all or none of it, when `append`
 * resolves, and an entry that is appended again is stored once.
 *
 * @module stint/claude-agent-sdk
 */
import type {
  SessionKey,
  SessionStore as TranscriptStore,
  SessionStoreEntry,
  SessionSummaryEntry,
} from '@anthropic-ai/claude-agent-sdk'
import type { HoldOptions, SessionStore } from '../session/index.ts'
import { type Fold, FoldedSessions } from './folded-sessions.ts'
import { importPeer } from './import-peer.ts'

const { foldSessionSummary } = await importPeer(
  'stint/claude-agent-sdk',
  '@anthropic-ai/claude-agent-sdk',
  () => import('@anthropic-ai/claude-agent-sdk'),
)

/** The facts about a transcript that its next append needs. */
interface Transcript {
  readonly uuids: Set<string>
  summary?: SessionSummaryEntry
}

const fold: Fold<Transcript> = {
  empty: () => ({ uuids: new Set() }),
  apply(transcript, { type, data }) {
    if (type === 'summary') transcript.summary = data as SessionSummaryEntry
    const uuid = type === 'entry' ? (data as SessionStoreEntry).uuid : undefined
    if (uuid !== undefined) transcript.uuids.add(uuid)
  },
}

export type SessionStoreOptions = Pick<HoldOptions, 'idle' | 'wait'>

/**
 * Mirrors transcripts into the sessions of a store, and resumes from there.
 *
 * @example
 * const options = { sessionStore: sessionStore(filesystemStore()), resume: sessionId }
 * for await (const message of query({ prompt: 'Go on', options })) console.log(message)
 */
export function sessionStore(
  store: SessionStore,
  options: SessionStoreOptions = {},
): Required<TranscriptStore> {
  const transcripts = new FoldedSessions(store, 'claude-agent-sdk', fold, options)

  async function append(key: SessionKey, entries: SessionStoreEntry[]): Promise<void> {
    if (entries.length === 0) return
    await transcripts.append(textOf(key), async ({ uuids, summary }) => {
      const isNew = ({ uuid }: SessionStoreEntry): boolean => uuid === undefined || !uuids.has(uuid)
      const fresh = withoutRepeats(entries).filter(isNew)
      const events = fresh.map((data) => ({ type: 'entry', data }))
      if (key.subpath !== undefined || fresh.length === 0) return events
      const next = foldSessionSummary(summary, key, fresh, { mtime: Date.now() })
      return [...events, { type: 'summary', data: next }]
    })
  }

  async function load(key: SessionKey): Promise<SessionStoreEntry[] | null> {
    const inspection = await transcripts.inspect(textOf(key))
    const entries: SessionStoreEntry[] = []
    for await (const { data } of inspection?.events({ type: 'entry' }) ?? [])
      entries.push(data as SessionStoreEntry)
    return entries.length === 0 ? null : entries
  }

  async function listSessions(projectKey: string): Promise<{ sessionId: string; mtime: number }[]> {
    const prefix = textOf({ projectKey, sessionId: '' })
    const found = await transcripts.list(prefix)
    return found.map(({ key, lastAt }) => ({ sessionId: key.slice(prefix.length), mtime: lastAt }))
  }

  async function listSessionSummaries(projectKey: string): Promise<SessionSummaryEntry[]> {
    const summaries: SessionSummaryEntry[] = []
    for (const { sessionId, mtime } of await listSessions(projectKey)) {
      const inspection = await transcripts.inspect(textOf({ projectKey, sessionId }))
      const [last] = (await inspection?.tail(1, { type: 'summary' })) ?? []
      // The time of the list, which was there before: a summary that is older than its time would be trusted.
      if (last !== undefined) summaries.push({ ...(last.data as SessionSummaryEntry), mtime })
    }
    return summaries
  }

  async function listSubkeys(key: { projectKey: string; sessionId: string }): Promise<string[]> {
    const prefix = textOf({ ...key, subpath: '' })
    return (await transcripts.list(prefix)).map(({ key: found }) => found.slice(prefix.length))
  }

  /** Deletes the main transcript last: if the process dies meanwhile, the session is still listed. */
  async function remove(key: SessionKey): Promise<void> {
    const subpaths = key.subpath === undefined ? await listSubkeys(key) : []
    for (const subpath of subpaths) await transcripts.remove(textOf({ ...key, subpath }))
    await transcripts.remove(textOf(key))
  }

  return { append, load, listSessions, listSessionSummaries, listSubkeys, delete: remove }
}

/** The names of a transcript as one text. All but the last are JSON, so that no two texts are equal. */
function textOf({ projectKey, sessionId, subpath }: SessionKey): string {
  const project = JSON.stringify(projectKey)
  return subpath === undefined
    ? `main/${project}/${sessionId}`
    : `sub/${project}/${JSON.stringify(sessionId)}/${subpath}`
}

function withoutRepeats(entries: readonly SessionStoreEntry[]): SessionStoreEntry[] {
  const uuids = new Set<string>()
  return entries.filter(({ uuid }) => uuid === undefined || (!uuids.has(uuid) && uuids.add(uuid)))
}
