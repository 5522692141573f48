import { signal, useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { ActionBodies, SessionView } from '../protocol.ts'
import { postJson, readOnly } from './api.ts'
import { partyName, shown } from './format.ts'
import { ErrorBox } from './parts.tsx'
import { goTo, linkTo } from './route.ts'

/** An action that a person is asked about before it happens. */
export interface Asked<Name extends keyof ActionBodies = keyof ActionBodies> {
  name: Name
  title: string
  /** What will happen, in a sentence. */
  effect: string
  /** More about it, a line each. */
  list?: readonly string[]
  /** The word on the button; without it, there is nothing to confirm. */
  verb?: string
  /** Whether the person must give a reason. */
  needsReason?: boolean
  isDangerous?: boolean
  body?: (reason: string) => ActionBodies[Name]
  /** Called after the server has done it. */
  done?: () => void
}

const asked = signal<Asked | undefined>(undefined)

export const ask = <Name extends keyof ActionBodies>(action: Asked<Name>): void => {
  asked.value = action as unknown as Asked
}

/** Asks for a confirmation; without one, nothing happens. A refusal is shown in the dialog. */
export function ActionDialog() {
  const dialog = useRef<HTMLDialogElement>(null)
  const reason = useSignal('')
  const error = useSignal<unknown>(undefined)
  const isBusy = useSignal(false)
  const action = asked.value
  useEffect(() => {
    if (action === undefined) return
    reason.value = ''
    error.value = undefined
    dialog.current?.showModal()
  }, [action])

  const perform = async (event: Event): Promise<void> => {
    event.preventDefault()
    if (action?.body === undefined || isBusy.peek()) return
    isBusy.value = true
    try {
      await postJson(`/api/actions/${action.name}`, action.body(reason.peek().trim()))
      dialog.current?.close()
      action.done?.()
    } catch (failure) {
      error.value = failure
    } finally {
      isBusy.value = false
    }
  }

  return (
    <dialog ref={dialog} aria-labelledby="action-title" onClose={() => (asked.value = undefined)}>
      {action !== undefined && (
        <form onSubmit={(event) => void perform(event)}>
          <ActionText action={action} />
          {action.needsReason === true && (
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
              {action.verb === undefined ? 'Close' : 'Cancel'}
            </button>
            {action.verb !== undefined && (
              <button class={action.isDangerous ? 'main danger' : 'main'} disabled={isBusy.value}>
                {action.verb}
              </button>
            )}
          </div>
        </form>
      )}
    </dialog>
  )
}

/** What an action will do, in a sentence, and the files that it is about. */
const ActionText = ({ action: { title, effect, list } }: { action: Asked }) => (
  <>
    <div>
      <h2 id="action-title">{title}</h2>
      <p class="wrap">{shown(effect, 1000)}</p>
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

/** A button that asks before it acts; absent where the server only shows. */
export function ActionButton<Name extends keyof ActionBodies>({ action }: { action: Asked<Name> }) {
  if (readOnly.value) return null
  return (
    <button type="button" class={action.isDangerous ? 'danger' : undefined} onClick={() => ask(action)}>
      {action.verb}
    </button>
  )
}

export const breakAction = (
  key: string,
  name: string,
  session_id: string,
  fence: number,
): Asked<'break'> => ({
  name: 'break',
  title: 'Break this claim?',
  effect: `${partyName(session_id)} loses its claim on ${name}. Its next change is refused, and the activity log names you and the reason.`,
  verb: 'Break claim',
  isDangerous: true,
  needsReason: true,
  body: (reason) => ({ key, session_id, fence, reason }),
})

/** Ends the hold of a process on a session: of a dead one, to close the session, or of one that hangs. */
export function unlockAction({ session_id, state, epoch, holder }: SessionView): Asked<'unlock'> {
  const body = () => ({ session_id, epoch: epoch ?? 0, since: holder?.since ?? 0 })
  if (state === 'crashed')
    return {
      name: 'unlock',
      title: 'Close this crashed session?',
      effect: `${partyName(session_id)} is recovered and closed. All that was acknowledged stays; it can be resumed later.`,
      verb: 'Close',
      body,
    }
  return {
    name: 'unlock',
    title: 'Unlock this session?',
    effect: `Process ${holder?.pid} loses its hold on ${session_id}: it writes nothing more. Another process can resume it.`,
    verb: 'Unlock',
    isDangerous: true,
    body,
  }
}

export const trashAction = (session_id: string): Asked<'trash'> => ({
  name: 'trash',
  title: 'Move this session to the trash?',
  effect: `${session_id} leaves the list. It stays in the trash until that is emptied: stint sessions restore brings it back.`,
  verb: 'Move to trash',
  isDangerous: true,
  body: () => ({ session_id }),
  done: () => goTo(linkTo('sessions')),
})
