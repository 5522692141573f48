import { signal, useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { ActionBodies } from '../protocol.ts'
import { postJson } from './api.ts'
import { shown } from './format.ts'
import { ErrorBox } from './parts.tsx'

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

/** Whether the server refuses actions: then no button offers one. */
export const readOnly = signal(false)

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
          <div>
            <h2 id="action-title">{action.title}</h2>
            <p class="wrap">{shown(action.effect, 1000)}</p>
          </div>
          {action.list !== undefined && (
            <ul class="panel list small" tabIndex={0} aria-label="Files">
              {action.list.map((line) => (
                <li class="row wrap" key={line}>
                  {shown(line, 1000)}
                </li>
              ))}
            </ul>
          )}
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

/** A button that asks before it acts; absent where the server only shows. */
export function ActionButton<Name extends keyof ActionBodies>({ action }: { action: Asked<Name> }) {
  if (readOnly.value) return null
  return (
    <button type="button" class={action.isDangerous ? 'danger' : undefined} onClick={() => ask(action)}>
      {action.verb}
    </button>
  )
}
