import type { WorkspaceList } from '../protocol.ts'
import { Ago } from './clock.tsx'
import { now } from './now-state.ts'
import { ShellLine, Empty, Place, ErrorBox } from './parts.tsx'
import { linkTo } from './route.ts'
import { useJson } from './use-json.ts'

/** Every workspace and resource that has a claim, a waiter or a history. */
export function WorkspacesPage() {
  // The list is asked for again when the claims change.
  const version = claimsVersion()
  const { data, error } = useJson<WorkspaceList>('/api/workspaces', version).state.value
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
        <table>
          <thead>
            <tr>
              <th>Workspace</th>
              <th class="number">Claims</th>
              <th class="number">Waiting</th>
              <th class="number">Last activity</th>
            </tr>
          </thead>
          <tbody>
            {data.workspaces.map((row) => (
              <tr key={row.key}>
                <td class="fill cut">
                  <a data-item href={linkTo('workspaces', row.key)}>
                    <Place name={row.name} />
                  </a>
                  {row.store === 'postgres' && <span class="dim small"> on the server</span>}
                </td>
                <Count of={row.claims} what="claims" />
                <Count of={row.waiters} what="waiting" />
                <td class="number">
                  <Ago at={row.last_at} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  )
}

function Count({ of: count, what }: { of: number; what: string }) {
  return (
    <td class={count === 0 ? 'number dim' : 'number'}>
      {count}
      <span class="narrow-only"> {what}</span>
    </td>
  )
}

/** Changes whenever a claim, a waiter or an incident does, so that pages derived from them load again. */
export function claimsVersion(key?: string): string {
  const state = now.value
  if (state === undefined) return ''
  const places = state.workspaces.filter((place) => key === undefined || place.key === key)
  const claims = places.flatMap(({ claims, waiters }) => [
    ...claims.map(({ session_id, fence }) => `${session_id} ${fence}`),
    ...waiters.map(({ session_id, since }) => `${session_id} ${since}`),
  ])
  const incident = state.incidents.find((each) => key === undefined || each.key === key)
  return [...claims, incident?.at ?? ''].join()
}
