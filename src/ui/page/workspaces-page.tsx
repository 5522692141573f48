import type { WorkspaceList, WorkspaceRow } from '../protocol.ts'
import { useJson } from './api.ts'
import { Age } from './clock.tsx'
import { claimsVersion } from './live.ts'
import { ShellLine, Empty, Place, ErrorBox } from './parts.tsx'
import { linkTo } from './route.ts'
import { StateMark } from './state-mark.tsx'

/** Every workspace and resource that has a claim, a waiter or a history. */
export function WorkspacesPage() {
  // The list is asked for again when the claims change.
  const version = claimsVersion()
  const { data, error } = useJson<WorkspaceList>('/api/workspaces', version)
  if (data === undefined)
    return error === undefined ? <p class="dim">Loading…</p> : <ErrorBox error={error} />
  return (
    <>
      <div class="head">
        <h1>Workspaces</h1>
      </div>
      {data.problem !== null && <ErrorBox error={data.problem} />}
      {data.workspaces.length === 0 ? (
        <Empty title="No workspace was claimed yet.">
          A claim keeps two sessions from changing the same files.
          <br />
          <ShellLine line="stint run --lock -- npm test" />
        </Empty>
      ) : (
        <ul class="panel">
          {data.workspaces.map((row) => (
            <WorkspaceLine key={row.key} row={row} />
          ))}
        </ul>
      )}
    </>
  )
}

function WorkspaceLine({ row }: { row: WorkspaceRow }) {
  return (
    <li class="row">
      <StateMark state={row.claims > 0 ? 'active' : 'idle'} label={row.claims > 0 ? 'In use' : 'Free'} />
      <a class="whole cut" href={linkTo('workspaces', row.key)}>
        <Place name={row.name} />
      </a>
      {row.store === 'postgres' && <span class="dim small">on the server</span>}
      {row.claims > 1 && <span class="small">{row.claims} claims</span>}
      {row.waiters > 0 && <StateMark state="waiting" label={`${row.waiters} waiting`} />}
      <Age class="right dim small" at={row.last_at} />
    </li>
  )
}
