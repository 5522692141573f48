import { useEffect } from 'preact/hooks'
import type { TranscriptDescription, TranscriptView } from '../server/protocol.ts'
import { addressOf } from './api.ts'
import { Ago, At, Copy, Empty, FactList, Pager, StateMark } from './parts.tsx'
import { exactTime, formatBytes, shown, shownCount, shownLines } from './format.ts'
import { route } from './route.ts'

/** Entries that are shown at once, and those before the one that a search has found. */
const pageSize = 200
const linesBefore = 20

/** The address of the part of a transcript that the page's own address asks for. */
export function transcriptAddress(id: string): string {
  const {
    at,
    from = at === undefined ? '' : String(Math.max(1, Number(at) - linesBefore)),
    before,
  } = route.value.query
  return addressOf('/api/transcript', {
    id,
    ...(before === undefined ? { from } : { before }),
    limit: pageSize,
  })
}

/** Whether the agent still has a conversation, or only the vault. */
export const TranscriptMark = ({ transcript }: { transcript: TranscriptDescription | undefined }) => (
  <StateMark state={transcript?.lost_after == null ? 'kept' : 'lost'} />
)

/** What to run: the agent continues a conversation that it has; one that it has lost is restored first. */
export function TranscriptTools({ transcript }: { transcript: TranscriptDescription | undefined }) {
  if (transcript === undefined) return null
  const { id, resume, lost_after } = transcript
  if (lost_after !== null) return <Copy label="Copy restore" text={`stint vault restore ${id}`} />
  return resume === null ? null : <Copy label="Copy resume" text={resume} />
}

/** Who said what, in its order, a page at a time. */
export function ConversationText({ view }: { view: TranscriptView }) {
  const { entries, transcript } = view
  const { at } = route.value.query
  useEffect(() => document.querySelector('.said.target')?.scrollIntoView({ block: 'center' }), [at, entries])
  if (entries.length === 0)
    return (
      <Empty title="Nothing to read here.">
        The transcript is kept, but has nothing that this page understands.{' '}
        <code>stint vault show --raw</code> prints it.
      </Empty>
    )
  const [first, last] = [entries[0]?.line ?? 1, entries.at(-1)?.line ?? 1]
  const steps = {
    Earlier: view.has_earlier ? { before: String(first), from: '', at: '' } : null,
    Later: view.has_later ? { from: String(last + 1), before: '', at: '' } : null,
  }
  return (
    <section>
      <h2>Conversation</h2>
      {view.has_earlier && <Pager steps={steps} />}
      <ol class="panel conversation" aria-label="Conversation">
        {entries.map((entry, index) => (
          <Said
            key={`${entry.line} ${index}`}
            entry={entry}
            agent={transcript.agent_title}
            isTarget={String(entry.line) === at}
          />
        ))}
      </ol>
      <Pager steps={steps} />
    </section>
  )
}

function Said({
  entry,
  agent,
  isTarget,
}: {
  entry: TranscriptView['entries'][number]
  agent: string
  isTarget: boolean
}) {
  const { at, who, tool, text, cut } = entry
  const name =
    tool !== null
      ? `${agent} calls ${shown(tool, 60)}`
      : { user: 'You', assistant: agent, tool: 'Result' }[who]
  const body = (
    <pre tabIndex={0}>
      {shownLines(text)}
      {cut !== null && <span class="dim">… {shownCount(cut)} characters in all</span>}
    </pre>
  )
  return (
    <li class={`said ${tool === null ? who : 'tool'}${isTarget ? ' target' : ''}`}>
      <p class="line small">
        <strong>{name}</strong>
        {at !== null && <At class="right dim" at={at} />}
      </p>
      {who === 'tool' || tool !== null ? (
        <details open={isTarget}>
          <summary class="cut small dim">{shown(text, 200)}</summary>
          {body}
        </details>
      ) : (
        body
      )}
    </li>
  )
}

export const TranscriptFacts = ({ transcript }: { transcript: TranscriptDescription }) => (
  <FactList
    title="Transcript"
    facts={{
      Id: shown(transcript.id),
      Agent: transcript.agent_title,
      Workspace: transcript.workspace && shown(transcript.workspace),
      'Last line': <Ago at={transcript.last_at} />,
      Size: formatBytes(transcript.bytes),
      Generations: transcript.generations > 1 ? transcript.generations : null,
      'Last there': transcript.lost_after && exactTime(transcript.lost_after),
      Deletion: transcript.due_at && exactTime(transcript.due_at),
    }}
  />
)
