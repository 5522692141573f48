import { useSignal } from '@preact/signals'
import { render } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { ActionDialog } from './actions.tsx'
import { secret, signIn, startClock, useNow } from './api.ts'
import { ChangeDetail, ChangesPage } from './changes-page.tsx'
import { NowPage } from './now-page.tsx'
import { Empty, Glyph, ShellLine } from './parts.tsx'
import { followAddress, linkTo, pages, type Route, route } from './route.ts'
import { SessionDetail } from './session-detail.tsx'
import { SessionsPage } from './sessions-page.tsx'
import { WorkspaceDetail, WorkspacesPage } from './workspaces-page.tsx'

/** The frame around every page. A tab without the secret shows the command that opens one with it. */
function App() {
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

function Top() {
  const { isConnected, crashes } = useNow()
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
            {name === 'now' && crashes > 0 && (
              <span class="count" title="need a person">
                {crashes}
              </span>
            )}
          </a>
        ))}
      </nav>
      <div class="connection small dim right" role="status">
        <Glyph state={isConnected ? 'active' : 'crashed'} />
        <span class={isConnected ? 'live' : undefined}>{isConnected ? 'live' : 'not connected'}</span>
      </div>
    </header>
  )
}

await signIn()
followAddress()
startClock()
render(<App />, document.body)
