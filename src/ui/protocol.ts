/**
 * The JSON that `stint ui` serves, for the page and for scripts: see `docs/ui.md`. Times are milliseconds
 * since the epoch. Strings come from agents and repositories: a reader shows them as text, never as markup.
 *
 * A failed request has a status of 400 or more and the body `ErrorBody`. A stream is `application/x-ndjson`,
 * an object a line; if it fails after its first line, its last line is an `ErrorBody`.
 */
import type { ClaimActivity, ClaimMode, ClaimOrigin } from '../lease/index.ts'
import type { Health, Pending, Revision, SessionEvent, SessionState, UnsettledAct } from '../session/index.ts'

export type {
  ClaimActivity,
  ClaimMode,
  ClaimOrigin,
  Health,
  Pending,
  Revision,
  SessionEvent,
  SessionState,
  UnsettledAct,
}

/** Every endpoint that answers with one JSON object. `:id` is the exact id of a session. */
export interface Answers {
  /** Body `TokenRequest`. The only request without the header `Authorization: Bearer SECRET`. */
  'POST /api/token': TokenAnswer
  /** The first screen: the data of `stint status`, a tile for each session, and recent refusals. */
  'GET /api/now': NowView
  /** Workspaces and resources that have claims, waiters or a history. */
  'GET /api/workspaces': WorkspaceList
  /** `?key=KEY[&from=AT]`: as `stint lock status` and `lock history` show it. */
  'GET /api/workspace': WorkspaceView
  /** `?[state=S][&text=T][&from=N][&limit=N]`: as `stint sessions list`. */
  'GET /api/sessions': SessionPage
  /** As `stint sessions show`. */
  'GET /api/sessions/:id': SessionView
  /**
   * `?[before=SEQ][&limit=N][&full=1]`: the records right before one, or the newest, and the acts of their
   * time. `full` sends large payloads whole.
   */
  'GET /api/sessions/:id/events': EventPage
  /** Reads both logs, as `stint sessions verify` does; damage is an answer, not an error. */
  'GET /api/sessions/:id/verify': Verification
  /** `?q=TEXT[&limit=N]`: as `stint sessions search`. */
  'GET /api/search': SearchAnswer
  'POST /api/actions/break': { broken: boolean; session_id: string; fence: number | null }
  'POST /api/actions/unlock': { session_id: string; unlocked: boolean }
  'POST /api/actions/close': { session_id: string; closed: boolean }
  'POST /api/actions/trash': { session_id: string; trash: string | null }
}

/** Every endpoint that answers with a stream of lines. */
export interface Streams {
  /** The state at once, and again whenever it changes, until the client closes the connection. */
  'GET /api/now/stream': NowView
}

/** The body of each action. Each is refused with `READ_ONLY` under `stint ui --read-only`. */
export interface ActionBodies {
  /** `fence` is that of the claim on the screen: a newer claim is not broken. */
  break: { key: string; session_id: string; fence: number; reason?: string }
  /** `epoch` and `since` are those of the holder on the screen: a later holder is not unlocked. */
  unlock: { session_id: string; epoch: number; since: number }
  close: { session_id: string }
  trash: { session_id: string }
}

export interface ErrorBody {
  error: { code: string; message: string; hint: string }
}

/** The one-time token in the fragment of the page's address. */
export interface TokenRequest {
  token: string
}

export interface TokenAnswer {
  /** For `Authorization: Bearer SECRET`, until this server ends. */
  secret: string
  read_only: boolean
}

/**
 * - `waits-for-you`: the agent asked its user for a permission. `crashed`: its process died, or records are
 *   missing; a person should look.
 * - `waiting`: it waits for a claim. `working`: a call runs. `background`: its turn is over and processes of
 *   it still run. `idle`: none of these.
 */
export const tileStates = ['waits-for-you', 'crashed', 'waiting', 'working', 'background', 'idle'] as const
export type TileState = (typeof tileStates)[number]

/** One session, as far as claims, waiters, prompts and the store know it. */
export interface SessionTile {
  session_id: string
  state: TileState
  /** When this state began, as far as that is known. */
  since: number
  origin: ClaimOrigin | null
  /** The program of a recorded session, or the agent's name. */
  agent: string | null
  pid: number | null
  title: string | null
  /** The purpose of its claim, or the first words of its prompt. */
  purpose: string | null
  /** What it holds. The first is the one to show where there is room for one. */
  holds: {
    key: string
    name: string
    paths: readonly string[]
    mode: ClaimMode
    standing: string
    fence: number
  }[]
  /** What it does now, as a sentence of `stint status`: `runs npm (pid 12) for 3m`. */
  work: { kind: string | null; name: string | null; pid: number | null; since: number; text: string } | null
  /** Present in the state `waiting`: the place, and the sessions in the way. */
  waits_for: { key: string; name: string; paths: readonly string[]; since: number; held_by: string[] } | null
  /** The workspace of a recorded session that holds nothing. */
  workspace: string | null
  /** Its last sign of life. */
  last_at: number
  /** Its state in the store; null if the session is not recorded. */
  recorded: SessionState | null
  /** Its last recorded event, in one line; null if none is known. */
  last_act: string | null
}

export interface NowView {
  at: number
  /** `files`, or the host and database of a server. */
  store: string
  read_only: boolean
  /** What needs a person first; at most 200. */
  tiles: SessionTile[]
  /** All sessions, also those without a tile: by tile state, and how many are closed. */
  totals: Record<TileState, number> & { closed: number }
  workspaces: NowWorkspace[]
  runs: NowRun[]
  /** Refusals, late calls, takeovers and broken claims of the last hour, newest first, at most 50. */
  incidents: Incident[]
  /** What `stint status` tells to do. */
  findings: { name: string; level: string; text: string; fix: string | null }[]
}

/** A claim, as in `stint lock status --json`. */
export interface ClaimRow {
  session_id: string
  parent: string | null
  pid: number | null
  standing: string
  liveness: string
  acquired_at: number
  age_ms: number
  expires_in_ms: number
  paths: string[]
  mode: ClaimMode
  fence: number
  purpose: string | null
  origin: ClaimOrigin | null
  work: (SessionTile['work'] & { state: string }) | null
}

/** A waiter, as in `stint lock status --json`. */
export interface WaiterRow {
  session_id: string
  pid: number
  since: number
  waited_ms: number
  paths: readonly string[]
  mode: ClaimMode
  origin: ClaimOrigin | null
}

export interface NowWorkspace {
  key: string
  /** The path of a workspace, or the name of a resource. */
  name: string
  kind: 'workspace' | 'resource'
  store: 'files' | 'postgres'
  claims: ClaimRow[]
  waiters: WaiterRow[]
}

/** A program under `stint run`, and what it has in the temp directory. */
export interface NowRun {
  request_id: string | null
  session_id: string | null
  command: string | null
  pid: number | null
  liveness: string | null
  path: string
  bytes: number
  files: number
  /** Whether counting took too long, so that the true size is at least this. */
  partial: boolean
  created_at: number
}

/** An activity, and where it happened. */
export interface Incident extends ClaimActivity {
  key: string
  name: string
}

export interface WorkspaceList {
  workspaces: WorkspaceRow[]
  /** Why the workspaces on a PostgreSQL server are missing; null if they are not. */
  problem: string | null
}

export interface WorkspaceRow extends Omit<NowWorkspace, 'claims' | 'waiters'> {
  claims: number
  waiters: number
  /** The newest activity; null if there is no history. */
  last_at: number | null
}

/** A workspace over time. */
export interface WorkspaceView extends NowWorkspace {
  from: number
  to: number
  /** What happened in this time, oldest first. */
  activities: ClaimActivity[]
}

/** A session, as in `stint sessions list --json`. */
export interface ListedSession {
  session_id: string
  state: SessionState
  /** The name that its program has given it: see `store.create({ key })`. */
  key: string | null
  tool: string | null
  title: string | null
  workspace: string | null
  created_at: number
  last_at: number
  turns: number
  records: number
  bytes: number
  holder: HolderRow | null
}

export interface HolderRow {
  pid: number
  liveness: string
  since: number
  beat: number
  kind: 'writer' | 'visitor'
  purpose: string | null
}

export interface SessionPage {
  sessions: ListedSession[]
  /** The place of the first in the list, newest activity first, and how many match. */
  from: number
  total: number
}

export interface SessionView extends ListedSession {
  store: string
  path: string | null
  /** The epoch of its hold, for the action `unlock`; null if it is not held. */
  epoch: number | null
  mask: string
  slots: { ext: string; version: string; bytes: number; value: string }[]
  unsettled: (UnsettledAct | Pending<UnsettledAct>)[]
  /** Entries that visitors left, and the holder has not taken in yet. */
  spooled: number
  quarantined: string[]
  revisions: Revision[]
  /** Shell lines for a person to copy. */
  commands: { resume: string; fork: string }
}

/** An event. Of a large payload, `data` is the begin of its JSON, and `cut` the length of all of it. */
export type EventRow = (SessionEvent | Pending<SessionEvent>) & { cut?: number }

export interface EventPage {
  /** In order; the first may be followed by older ones unless its `seq` is 1. */
  events: EventRow[]
  /** The acts between the first of these events and the one after the last; oldest first. */
  acts: ActRow[]
  /** How many acts of this time are left out, older than these. */
  acts_left_out: number
  /** The number of the last record that there is; 0 for an empty journal. */
  last: number
}

/** An act with its intent and outcome, or a note, which stands alone. */
export interface ActRow {
  seq: number | null
  act: string | null
  at: number
  type: 'act' | 'note'
  action: string
  subject: string | null
  key: string | null
  /** Null if there is no outcome: the act was performed, or not, or half. */
  outcome: { at: number; duration_ms: number; ok: boolean; error: string | null } | null
  detail: unknown
}

export interface Verification {
  session_id: string
  state: 'whole' | 'torn' | 'damaged'
  findings: string[]
  health: Health | null
}

/** Events in which a search found its text: those of the newest session first. */
export interface SearchAnswer {
  hits: SearchHit[]
  /** Sessions that could not be read in full. */
  unreadable: { session_id: string; message: string }[]
}

export interface SearchHit {
  session_id: string
  title: string | null
  /** The number of the record; null for a pending event. */
  seq: number | null
  pending?: true
  at: number
  type: string
  path: string | null
  excerpt: string
}
