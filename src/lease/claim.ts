import type { Identity } from '../base/process/liveness.ts'

/** What a workspace's register holds: everybody's claims on it. */
export interface ClaimsRecord {
  schema_version: 1
  /** The full path behind the key: two paths with one key must not share claims. */
  workspace: string
  /** Grows with every reboot that may have lost epochs; `fence = generation * 2^20 + epoch`. */
  generation: number
  /** The boot that wrote this, so that the next one notices. */
  boot: string
  claims: Claim[]
  /** The last claims that were removed against their holder's will. */
  breaks: BrokenClaim[]
}

export interface BrokenClaim {
  session_id: string
  fence: number
  by: string
  reason: string | null
  at: number
}

/** A session's claim. */
export interface Claim {
  session_id: string
  /** The first holder's pid; null if no process stands behind it. */
  pid: number | null
  acquired_at: number
  ttl_ms: number
  /** How long it lasts while a holder works on a call. */
  busy_ttl_ms: number
  refreshed_at: number
  /** The same moment on the monotonic clock named `clock`. */
  mono: number
  clock: string
  /** Relative to the workspace; `**` is all of it. */
  paths: string[]
  mode: ClaimMode
  /** Epoch of the grant, higher than that of any earlier grant. */
  fence: number
  /** The fence it began with: between the two it was never lost. */
  first_fence: number
  purpose: string | null
  /** Some of its paths were given up: if it takes more again, that is a new grant from the start. */
  narrowed: boolean
  /** Taken from the command line without a process: it outlives its holders until its time is over. */
  detached: boolean
  holders: ClaimHolder[]
}

export type ClaimMode = 'exclusive' | 'shared'

/** A process a claim lives by. */
export interface ClaimHolder extends Identity {
  /** What it is working on: while it lives, a claim in use does not expire. */
  calls: Call[]
}

export interface Call {
  id: string
  /** Milliseconds since the epoch. */
  since: number
}

export const wholeWorkspace: readonly string[] = ['**']
export const defaultTtlMs = 5 * 60_000
export const defaultBusyTtlMs = 2 * 3_600_000
/** No claim lasts longer without a refresh, whatever its record says. */
export const maxTtlMs = 30 * 24 * 3_600_000

/** What a workspace has that nobody claims. */
export const noClaims = (workspace: string): ClaimsRecord => {
  return { schema_version: 1, workspace, generation: 0, boot: '', claims: [], breaks: [] }
}

/** Is it the same process? */
export const sameProcess = (a: Identity, b: Identity): boolean =>
  a.pid === b.pid && a.started === b.started && a.boot === b.boot && a.pidns === b.pidns && a.host === b.host
