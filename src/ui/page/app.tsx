import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { ActionDialog, readOnly } from './actions.tsx'
import { secret } from './api.ts'
import { AuditPage } from './audit-page.tsx'
import { DiskPage } from './disk-page.tsx'
import { shown } from './format.ts'
import { listenForKeys } from './keyboard.ts'
import { connection } from './live.ts'
import { needsPerson, now } from './now-state.ts'
import { NowPage } from './now-page.tsx'
import { ShellLine, Empty } from './parts.tsx'
import { pages, type Route, linkTo, route } from './route.ts'
import { SearchPage } from './search-page.tsx'
import { SessionDetail } from './session-detail.tsx'
import { SessionsPage } from './sessions-page.tsx'
import { WorkspaceDetail } from './workspace-detail.tsx'
import { WorkspacesPage } from './workspaces-page.tsx'

/** The frame around every page. A tab without the secret shows the command that opens one with it. */
export function App() {
  if (secret.value === undefined) return <NoSecret />
  return <SignedIn />
}

function NoSecret() {
  return (
    <main>
      <Empty title="This tab has no access.">
        An address works once, and as long as its <code>stint ui</code> runs. Run this for a new one:
        <br />
        <ShellLine line="stint ui" />
      </Empty>
    </main>
  )
}

function SignedIn() {
  const help = useRef<HTMLDialogElement>(null)
  const main = useRef<HTMLElement>(null)
  const { page, id } = route.value
  useEffect(() => listenForKeys(() => help.current?.showModal()), [])
  // A new page starts at its top, and the next Tab goes into it.
  const isFirst = useSignal(true)
  useEffect(() => {
    // A page that has put the cursor into its field keeps it there.
    const isInside = main.current?.contains(document.activeElement) === true
    if (!isFirst.peek() && !isInside) main.current?.focus()
    isFirst.value = false
    scrollTo(0, 0)
  }, [page, id])
  return (
    <>
      <Top />
      <main ref={main} tabIndex={-1}>
        <CurrentPage {...route.value} />
      </main>
      <ActionDialog />
      <Help dialog={help} />
    </>
  )
}

function CurrentPage({ page, id }: Route) {
  switch (page) {
    case 'now':
      return <NowPage />
    case 'workspaces':
      return id === undefined ? <WorkspacesPage /> : <WorkspaceDetail key={id} id={id} />
    case 'sessions':
      return id === undefined ? <SessionsPage /> : <SessionDetail key={id} id={id} />
    case 'audit':
      return <AuditPage />
    case 'disk':
      return <DiskPage />
    case 'search':
      return <SearchPage />
  }
}

const connectionTexts = { connecting: 'connecting', live: 'live', paused: 'paused', lost: 'not connected' }

function Top() {
  const state = now.value
  const count = state === undefined ? 0 : needsPerson(state)
  return (
    <header class="top">
      <a class="brand" href={linkTo('now')}>
        <img src="icon.svg" alt="" />
        stint
      </a>
      <nav aria-label="Pages">
        {pages.map(({ name, title }) => (
          <a key={name} href={linkTo(name)} aria-current={route.value.page === name ? 'page' : undefined}>
            {title}
            {name === 'now' && count > 0 && (
              <span class="count" title="need a person">
                {count}
              </span>
            )}
          </a>
        ))}
      </nav>
      <div class="status-line">
        {readOnly.value && <span>read only</span>}
        {state !== undefined && state.store !== 'files' && <span class="cut">{shown(state.store, 40)}</span>}
        <span class="connection" data-is={connection.value} role="status">
          {connectionTexts[connection.value]}
        </span>
      </div>
    </header>
  )
}

function Help({ dialog }: { dialog: { current: HTMLDialogElement | null } }) {
  return (
    <dialog ref={dialog} aria-labelledby="help-title">
      <form method="dialog">
        <h2 id="help-title">Keys</h2>
        <dl>
          <dt>
            <kbd>j</kbd> <kbd>k</kbd>
          </dt>
          <dd>next and previous item</dd>
          <dt>
            <kbd>Enter</kbd>
          </dt>
          <dd>open it</dd>
          <dt>
            <kbd>/</kbd>
          </dt>
          <dd>search</dd>
          {pages.map(({ key, title }) => (
            <>
              <dt key={key}>
                <kbd>g</kbd> <kbd>{key}</kbd>
              </dt>
              <dd>{title}</dd>
            </>
          ))}
          <dt>
            <kbd>?</kbd>
          </dt>
          <dd>this list</dd>
        </dl>
        <div class="buttons">
          <button class="main">Close</button>
        </div>
      </form>
    </dialog>
  )
}
