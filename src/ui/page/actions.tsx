import { signal, useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { SessionView } from '../server/protocol.ts'
import { perform } from './api.ts'
import { partyName, shown } from './format.ts'
import { ErrorBox } from './parts.tsx'
import { goTo, linkTo } from './route.ts'

/** An action that a person is asked about before it happens. */
interface Question {
  title: string
  /** What will happen, in a sentence. */
  effect?: string
  /** Why it cannot happen. */
  error?: unknown
  /** More about it, a line each. */
  list?: readonly string[]
  /** The word on the button; without it, there is nothing to confirm. */
  verb?: string
  /** Whether the person must give a reason. */
  needsReason?: boolean
  isDangerous?: boolean
  act?: (reason: string) => Promise<void>
}

const asked = signal<Question | undefined>(undefined)

export const ask = (question: Question): void => void (asked.value = question)

/** Asks for a confirmation; without one, nothing happens. A refusal is shown in the dialog. */
export function ActionDialog() {
  const dialog = useRef<HTMLDialogElement>(null)
  const reason = useSignal('')
  const error = useSignal<unknown>(undefined)
  const isBusy = useSignal(false)
  const question = asked.value
  useEffect(() => {
    if (question === undefined) return
    reason.value = ''
    error.value = question.error
    dialog.current?.showModal()
  }, [question])

  const confirm = async (event: Event): Promise<void> => {
    event.preventDefault()
    if (isBusy.peek()) return
    isBusy.value = true
    try {
      await question?.act?.(reason.peek().trim())
      dialog.current?.close()
    } catch (failure) {
      error.value = failure
    } finally {
      isBusy.value = false
    }
  }

  return (
    <dialog ref={dialog} aria-labelledby="question" onClose={() => (asked.value = undefined)}>
      {question !== undefined && (
        <form onSubmit={(event) => void confirm(event)}>
          <QuestionText question={question} />
          {question.needsReason === true && (
            <label>
              Reason, for the agent and the log
              <textarea
                required
                value={reason.value}
                onInput={(event) => (reason.value = event.currentTarget.value)}
              />
            </label>
          )}
          {error.value !== undefined && <ErrorBox error={error.value} />}
          <div class="buttons">
            <button type="button" onClick={() => dialog.current?.close()}>
              {question.verb === undefined ? 'Close' : 'Cancel'}
            </button>
            {question.verb !== undefined && (
              <button class={question.isDangerous ? 'main danger' : 'main'} disabled={isBusy.value}>
                {question.verb}
              </button>
            )}
          </div>
        </form>
      )}
    </dialog>
  )
}

/** What an action will do, in a sentence, and the files that it is about. */
const QuestionText = ({ question: { title, effect, list } }: { question: Question }) => (
  <>
    <div>
      <h2 id="question">{title}</h2>
      {effect !== undefined && <p class="wrap">{shown(effect, 1000)}</p>}
    </div>
    {list !== undefined && (
      <ul class="panel list small" tabIndex={0} aria-label="Files">
        {list.map((line) => (
          <li class="row wrap" key={line}>
            {shown(line, 1000)}
          </li>
        ))}
      </ul>
    )}
  </>
)

/** A button that asks before it acts. */
export const ActionButton = ({ question }: { question: Question }) => (
  <button type="button" class={question.isDangerous ? 'danger' : undefined} onClick={() => ask(question)}>
    {question.verb}
  </button>
)

export const breakQuestion = (key: string, name: string, session_id: string, fence: number): Question => ({
  title: 'Break this claim?',
  effect: `${partyName(session_id)} loses its claim on ${name}. Its next change is refused, and the activity log names you and the reason.`,
  verb: 'Break claim',
  isDangerous: true,
  needsReason: true,
  act: (reason) => perform('break', { key, session_id, fence, reason }),
})

/** Ends the hold of a process on a session: of a dead one, to close the session, or of one that hangs. */
export function unlockQuestion({ session_id, state, epoch, holder }: SessionView): Question {
  const act = () => perform('unlock', { session_id, epoch: epoch ?? 0, since: holder?.since ?? 0 })
  if (state === 'crashed')
    return {
      title: 'Close this crashed session?',
      effect: `${partyName(session_id)} is recovered and closed. All that was acknowledged stays; it can be resumed later.`,
      verb: 'Close',
      act,
    }
  return {
    title: 'Unlock this session?',
    effect: `Process ${holder?.pid} loses its hold on ${session_id}: it writes nothing more. Another process can resume it.`,
    verb: 'Unlock',
    isDangerous: true,
    act,
  }
}

export const trashQuestion = (session_id: string): Question => ({
  title: 'Move this session to the trash?',
  effect: `${session_id} leaves the list. It stays in the trash until that is emptied: stint sessions restore brings it back.`,
  verb: 'Move to trash',
  isDangerous: true,
  async act() {
    await perform('trash', { session_id })
    goTo(linkTo('sessions'))
  },
})
