import type { StatusData } from './gather.ts'

/** What of a status does not change by itself from one look to the next: who, what and in which state, not how old and how large. */
export function lastingPart(data: StatusData): unknown {
  const { home, root, workspaces, runs, sessions, orphans, hooks, without_hooks, findings } = data
  return {
    home,
    root,
    workspaces: workspaces.map(({ claims, ...target }) => ({
      ...target,
      claims: claims.map(({ age_ms: _age, expires_in_ms: _rest, ...claim }) => claim),
    })),
    runs: runs.map(({ path, liveness }) => [path, liveness]).sort(),
    sessions: [
      sessions.states,
      sessions.open.map(({ session_id, state, holder }) => [session_id, state, holder?.pid]),
    ],
    orphans: orphans.count,
    hooks,
    without_hooks,
    findings: findings.map(({ name, level }) => [name, level]),
  }
}
