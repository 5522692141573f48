import type { SessionView, TranscriptView } from '../server/protocol.ts'
import { ActionButton, trashQuestion, unlockQuestion } from './actions.tsx'
import { addressOf, useJson } from './api.ts'
import { Ago, Choices, Copy, FactList, Loading, StateMark } from './parts.tsx'
import { countOf, formatBytes, shown, shownLines } from './format.ts'
import { linkTo, route } from './route.ts'
import { followed, Timeline } from './timeline.tsx'
import {
  ConversationText,
  transcriptAddress,
  TranscriptFacts,
  TranscriptMark,
  TranscriptTools,
} from './transcript.tsx'

/** One session as it was recorded, as its agent's conversation in the vault, or both: what happened in it. */
export function SessionDetail({ id }: { id: string }) {
  const { data: recorded, error } = useJson<SessionView>(addressOf('/api/session', { id }), ...followed(id))
  const { data: conversation } = useJson<TranscriptView>(transcriptAddress(id))
  if (recorded === undefined && (error === undefined || conversation === undefined))
    return <Loading error={error} />
  const transcript = conversation?.transcript
  const isRead = recorded === undefined || route.value.query.view === 'transcript'
  return (
    <>
      <div class="head">
        <h1>{shown(recorded?.title ?? transcript?.title ?? id)}</h1>
        {recorded === undefined ? (
          <TranscriptMark transcript={transcript} />
        ) : (
          <StateMark state={recorded.state} />
        )}
        <div class="tools">
          {recorded === undefined ? (
            <TranscriptTools transcript={transcript} />
          ) : (
            <SessionTools view={recorded} />
          )}
        </div>
      </div>
      {recorded !== undefined && conversation !== undefined && <Views id={id} isRead={isRead} />}
      <div class="with-side">
        <div>
          {recorded !== undefined && <Unsettled unsettled={recorded.unsettled} />}
          {isRead && conversation !== undefined ? (
            <ConversationText view={conversation} />
          ) : (
            <Timeline id={id} isHeld={recorded?.holder?.liveness === 'alive'} />
          )}
        </div>
        <div>
          {recorded !== undefined && <SessionFacts view={recorded} />}
          {transcript !== undefined && <TranscriptFacts transcript={transcript} />}
          {recorded !== undefined && <Slots slots={recorded.slots} />}
        </div>
      </div>
    </>
  )
}

/** What was recorded of a session, or what was said in it. */
function Views({ id, isRead }: { id: string; isRead: boolean }) {
  return (
    <Choices
      label="View"
      current={isRead ? 'transcript' : ''}
      options={[
        { value: '', text: 'Events', link: linkTo('sessions', id) },
        { value: 'transcript', text: 'Conversation', link: linkTo('sessions', id, { view: 'transcript' }) },
      ]}
    />
  )
}

function SessionTools({ view }: { view: SessionView }) {
  const { session_id, holder } = view
  return (
    <>
      <Copy label="Copy resume" text={`stint run --session ${session_id} --record -- COMMAND`} />
      <Copy label="Copy fork" text={`stint sessions fork ${session_id}`} />
      <ActionButton question={holder === null ? trashQuestion(session_id) : unlockQuestion(view)} />
    </>
  )
}

/** Acts that began and have no outcome: they were performed, or not, or half. A person should look. */
function Unsettled({ unsettled }: Pick<SessionView, 'unsettled'>) {
  if (unsettled.length === 0) return null
  return (
    <section class="unsettled">
      <h2>
        <StateMark state="warn" label={`${countOf(unsettled.length, 'act')} without an outcome`} />
      </h2>
      <ul class="panel">
        {unsettled.slice(0, 20).map((act) => (
          <li class="row" key={act.act}>
            <strong>{shown(act.action, 80)}</strong>
            <span class="cut">{shown(act.subject ?? '')}</span>
            <span class="right dim small">
              begun <Ago at={act.at} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}

const SessionFacts = ({ view }: { view: SessionView }) => (
  <FactList
    title="Session"
    facts={{
      Id: view.session_id,
      Program: view.tool && shown(view.tool),
      Workspace: view.workspace && shown(view.workspace),
      Begun: <Ago at={view.created_at} />,
      'Last record': <Ago at={view.last_at} />,
      Size: `${countOf(view.records, 'record')}, ${formatBytes(view.bytes)}`,
      'Held by': view.holder === null ? 'no process' : `process ${view.holder.pid}, ${view.holder.liveness}`,
    }}
  />
)

function Slots({ slots }: Pick<SessionView, 'slots'>) {
  if (slots.length === 0) return null
  return (
    <section>
      <h2>Slots</h2>
      <div class="panel">
        {slots.map((slot) => (
          <details class="slot" key={slot.ext}>
            <summary>
              {shown(slot.ext, 80)} <span class="dim small">{formatBytes(slot.bytes)}</span>
            </summary>
            <pre tabIndex={0}>{shownLines(slot.value)}</pre>
          </details>
        ))}
      </div>
    </section>
  )
}
