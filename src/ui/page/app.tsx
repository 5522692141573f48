import { effect, useSignal } from '@preact/signals'
import { render } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { ActionDialog } from './actions.tsx'
import { connection, followNow, now, readOnly, secret, signIn } from './api.ts'
import { ChangeDetail, ChangesPage } from './changes-page.tsx'
import { NowPage } from './now-page.tsx'
import { Empty, Glyph, ShellLine, startClock } from './parts.tsx'
import { followAddress, linkTo, pages, type Route, route } from './route.ts'
import { SessionDetail } from './session-detail.tsx'
import { SessionsPage } from './sessions-page.tsx'
import { WorkspaceDetail, WorkspacesPage } from './workspaces-page.tsx'

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
  const main = useRef<HTMLElement>(null)
  const { page, id } = route.value
  // A new page starts at its top, and the next Tab goes into it.
  const isFirst = useSignal(true)
  useEffect(() => {
    if (!isFirst.peek()) main.current?.focus()
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
    case 'changes':
      return id === undefined ? <ChangesPage /> : <ChangeDetail key={id} id={id} />
  }
}

const connections = {
  connecting: { text: 'connecting', state: 'idle' },
  live: { text: 'live', state: 'active' },
  paused: { text: 'paused', state: 'idle' },
  lost: { text: 'not connected', state: 'crashed' },
}

function Top() {
  const { crashed = 0, damaged = 0 } = now.value?.totals ?? {}
  const count = crashed + damaged
  return (
    <header class="top">
      <a class="brand" href={linkTo('now')}>
        <img src="icon.svg" alt="" width="20" />
        <span>stint</span>
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
      <div class="status-line small dim">
        {readOnly.value && <span>read only</span>}
        <span class="connection" role="status">
          <Glyph state={connections[connection.value].state} />
          <span class={connection.value}>{connections[connection.value].text}</span>
        </span>
      </div>
    </header>
  )
}

await signIn()
effect(() => (secret.value === undefined ? undefined : followNow()))
followAddress()
startClock()
render(<App />, document.body)
