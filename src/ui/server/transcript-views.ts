import { StintError } from '../../base/errors/stint-error.ts'
import { giveWay } from '../../base/process/event-loop.ts'
import { visibleText } from '../../base/text/escape.ts'
import { agentTitle } from '../../hooks/index.ts'
import { registerEnvironmentSecrets } from '../../secrets/index.ts'
import type { BuiltInStore } from '../../session/index.ts'
import {
  type Conversation,
  describeConversation,
  type Entry,
  listConversations,
  readEntries,
  resumeCommand,
  searchTranscripts,
  vaultDirectory,
} from '../../vault/index.ts'
import { describeFound } from '../../session/commands/search.ts'
import type { RequestFields } from './endpoints.ts'
import type { SearchAnswer, SessionPage, TranscriptDescription, TranscriptView } from './protocol.ts'
import { listRecorded } from './session-views.ts'

/** Lists recorded sessions and transcripts, newest activity first; those of the same id are one row. */
export async function listSessionPage(store: BuiltInStore, query: RequestFields): Promise<SessionPage> {
  const from = query.count('from') ?? 0
  const limit = query.limit(100, 1000)
  // The rows of this page are among the first ones of each list.
  const recorded = await listRecorded(store, query, from + limit)
  const transcripts = query.text('state') === undefined ? await findTranscripts(query.text('text')) : []
  const byId = new Map(transcripts.map((transcript) => [transcript.id, transcript]))
  const recordedIds = new Set(transcripts.length === 0 ? [] : await store.medium.ids(''))
  const unrecorded = transcripts.filter(({ id }) => !recordedIds.has(id))
  const rows = [
    ...recorded.sessions.map((session) => ({
      id: session.session_id,
      at: session.last_at,
      session,
      transcript: byId.get(session.session_id),
    })),
    ...unrecorded.map((transcript) => ({
      id: transcript.id,
      at: transcript.last_at,
      session: null,
      transcript,
    })),
  ]
  const page = rows.sort((a, b) => b.at - a.at).slice(from, from + limit)
  return {
    sessions: page.map(({ id, session, transcript }) => ({
      session_id: id,
      recorded: session,
      transcript: transcript === undefined ? null : describeTranscript(transcript),
    })),
    from,
    total: recorded.total + unrecorded.length,
  }
}

/** The transcripts with this text in what a list shows of them, newest first. */
async function findTranscripts(text: string | undefined): Promise<Conversation[]> {
  const all = listConversations(vaultDirectory())
  if (text === undefined) return all
  const matching: Conversation[] = []
  for (const conversation of all) {
    await giveWay()
    const { agent_title, id, title, workspace } = describeTranscript(conversation)
    const fields = [agent_title, id, title ?? '', workspace ?? '']
    if (fields.some((field) => field.toLowerCase().includes(text.toLowerCase()))) matching.push(conversation)
  }
  return matching
}

function describeTranscript(each: Conversation): TranscriptDescription {
  return { ...describeConversation(each), agent_title: agentTitle(each.agent), resume: resumeCommand(each) }
}

/** Finds a text in the events of sessions, and then in transcripts, as `stint sessions search` does. */
export async function searchAll(
  store: BuiltInStore,
  query: RequestFields,
  signal: AbortSignal,
): Promise<SearchAnswer> {
  const answer: SearchAnswer = { hits: [], unreadable: [] }
  const text = query.need('q')
  const limit = query.limit(200, 1000)
  // A client that has gone ends the search.
  const onBytes = (): void => signal.throwIfAborted()
  const events = store.search(text, {
    onBytes,
    onUnreadable: ({ id }, { message }) => answer.unreadable.push({ session_id: id, message }),
  })
  for (const search of [events, searchTranscripts(text, { onBytes })])
    for await (const hit of search) {
      const is_transcript = search !== events
      answer.hits.push({ ...describeFound(hit), title: hit.session.title ?? null, is_transcript })
      if (answer.hits.length >= limit) return answer
    }
  return answer
}

/** Characters of an entry that the page shows: of something said, and of what a tool got or returned. */
const maxChars = { said: 20_000, tool: 4000 }

/** Who said what in a transcript: a page from a line on, or the entries right before one. */
export async function viewTranscript(query: RequestFields): Promise<TranscriptView> {
  const id = query.need('id')
  const limit = query.limit(200, 1000)
  const [from, before] = [query.count('from') ?? 1, query.count('before')]
  const conversation = listConversations(vaultDirectory()).find((each) => each.id === id)
  if (conversation === undefined)
    throw new StintError('NOT_FOUND', `no conversation ${visibleText(id, 140)} in the vault`, {
      hint: '`stint vault list` shows those that there are, and `stint vault sync` copies new ones.',
    })
  const { gate } = registerEnvironmentSecrets()
  const mask = (text: string): string => gate.text(text)
  const entries: TranscriptView['entries'] = []
  let [hasEarlier, hasLater] = [false, false]
  for (const entry of readEntries(conversation.record, conversation.agent)) {
    await giveWay()
    const { line = 0 } = entry
    hasLater = before === undefined ? entries.length === limit : line >= before
    if (hasLater) break
    if (before === undefined && line < from) hasEarlier = true
    else entries.push(describeEntry(entry, mask))
    if (entries.length <= limit) continue
    entries.shift()
    hasEarlier = true
  }
  return {
    transcript: describeTranscript(conversation),
    entries,
    has_earlier: hasEarlier,
    has_later: hasLater,
  }
}

function describeEntry(
  { line = 0, at, who, tool, text }: Entry,
  mask: (text: string) => string,
): TranscriptView['entries'][number] {
  const max = who === 'tool' || tool !== undefined ? maxChars.tool : maxChars.said
  const masked = mask(text)
  return {
    line,
    at: at ?? null,
    who,
    tool: tool === undefined ? null : visibleText(tool, 100),
    text: masked.slice(0, max),
    cut: masked.length > max ? masked.length : null,
  }
}
