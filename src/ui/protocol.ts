/**
 * The JSON that `stint ui` serves, for the page and for scripts: see `docs/ui.md`. Times are milliseconds
 * since the epoch. Strings come from agents and repositories: a reader shows them as text, never as markup.
 *
 * A failed request has a status of 400 or more and the body `ErrorBody`. A stream is `application/x-ndjson`,
 * an object a line; if it fails after its first line, its last line is an `ErrorBody`.
 */
import type { Activity, MeasuredEntry, SweepReport } from '../sweep/index.ts'
import type { ClaimActivity, ClaimMode, ClaimOrigin } from '../lease/index.ts'
import type {
  AuditRecord,
  DiskUse,
  Health,
  Pending,
  Revision,
  SessionEvent,
  SessionState,
  UnsettledAct,
} from '../session/index.ts'

export type {
  Activity,
  AuditRecord,
  ClaimActivity,
  ClaimMode,
  ClaimOrigin,
  DiskUse,
  Health,
  MeasuredEntry,
  Pending,
  Revision,
  SessionEvent,
  SessionState,
  SweepReport,
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
  /** `?key=KEY[&from=AT][&to=AT]`: as `stint lock status` and `lock history` show it. */
  'GET /api/workspace': WorkspaceView
  /** `?[state=S][&tool=T][&workspace=DIR][&text=T][&from=N][&limit=N]`: as `stint sessions list`. */
  'GET /api/sessions': SessionPage
  /** As `stint sessions show`. */
  'GET /api/sessions/:id': SessionView
  /**
   * `?[from=SEQ | before=SEQ][&limit=N][&type=T][&full=1]`: records in order. `from` reads forwards, `before`
   * the ones right before that record; without both, the newest. `full` sends large payloads whole.
   */
  'GET /api/sessions/:id/events': EventPage
  /** `?[since=AT][&until=AT][&before=SEQ][&limit=N]`: acts and notes of the audit log, oldest first. */
  'GET /api/sessions/:id/acts': ActPage
  /** The session, those that it was forked from, and those forked from it. */
  'GET /api/sessions/:id/forks': { tree: ForkNode }
  /** Reads both logs, as `stint sessions verify` does; damage is an answer, not an error. */
  'GET /api/sessions/:id/verify': Verification
  /** `?[since=AT]`: as `stint temp stats` and `stint sessions list --sort size`. */
  'GET /api/disk': DiskView
  /** As `stint sweep --dry-run`. */
  'GET /api/disk/plan': SweepPlan
  'POST /api/actions/break': { broken: boolean; session_id: string; fence: number | null }
  'POST /api/actions/sweep': SweepPlan
  'POST /api/actions/unlock': { session_id: string; unlocked: boolean }
  'POST /api/actions/close': { session_id: string; closed: boolean }
  'POST /api/actions/trash': { session_id: string; trash: string | null }
}

/** Every endpoint that answers with a stream of lines. */
export interface Streams {
  /** The state at once, and again whenever it changes, until the client closes the connection. */
  'GET /api/now/stream': NowView
  /**
   * `?[from=SEQ][&audit=SEQ]`: the events from a record on, and those that come later; with `audit` also the
   * audit lines from a number on.
   */
  'GET /api/sessions/:id/follow': EventRow | { audit: AuditRecord }
  /**
   * `?[action=A][&subject=T][&since=AT][&until=AT][&failed=1][&type=T][&session=ID][&limit=N]`: as
   * `stint audit query --all`, newest session first. `&format=csv` answers with a file to save.
   */
  'GET /api/audit': AuditLineOf | StreamEnd
  /** `?q=TEXT[&regex=1][&workspace=DIR][&tool=T][&since=AT][&limit=N]`: as `stint sessions search`. */
  'GET /api/search': SearchHit | StreamEnd
}

/** The body of each action. Each is refused with `READ_ONLY` under `stint ui --read-only`. */
export interface ActionBodies {
  /** `fence` is that of the claim on the screen: a newer claim is not broken. */
  break: { key: string; session_id: string; fence: number; reason?: string }
  sweep: { scope?: 'all' | 'sessions' }
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
  /** The view of the server's last look, if that was seconds ago, so that the page can show it at once. */
  now: NowView | null
}

/** The last line of a stream that ends by itself. */
export interface StreamEnd {
  end: true
  /** How many lines came before; sessions that could not be read in full. */
  found: number
  unreadable: { session_id: string; message: string }[]
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
  /** The session that this one works for. */
  parent: string | null
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
  hostname: string
  home: string | null
  /** `files`, or the host and database of a server. */
  store: string
  read_only: boolean
  version: string
  /** What needs a person first; at most 200. */
  tiles: SessionTile[]
  /** All sessions, also those without a tile: by tile state, and how many are closed. */
  totals: Record<TileState, number> & { closed: number }
  workspaces: NowWorkspace[]
  runs: NowRun[]
  /** Refusals, late calls, takeovers and broken claims of the last hour, newest first, at most 50. */
  incidents: Incident[]
  disk: { name: string; free_bytes: number; total_bytes: number }[]
  orphans: { count: number; bytes: number }
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

/** A workspace over time. `lanes` are derived from `activities`; both are in order of time. */
export interface WorkspaceView extends NowWorkspace {
  from: number
  to: number
  /** The oldest activity that the log still has; null if there is none. */
  recorded_from: number | null
  lanes: Lane[]
  activities: ClaimActivity[]
}

/** One session in a workspace: what it held and waited for. */
export interface Lane {
  session_id: string
  agent: string | null
  purpose: string | null
  spans: LaneSpan[]
  /** Refusals and late calls: moments rather than spans. */
  marks: { at: number; kind: ClaimActivity['kind']; by: string | null; paths: readonly string[] }[]
}

export interface LaneSpan {
  kind: 'held' | 'waited'
  from: number
  /** Null while it lasts. */
  to: number | null
  paths: readonly string[]
  /** How it ended: `release`, `takeover`, `break`, `grant` or `refusal` of a wait; null while it lasts. */
  end: string | null
  /** The session that took over, the user who broke the claim, or the session that was waited for. */
  by: string | null
  reason: string | null
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
  events: EventRow[]
  /** The numbers of the first and the last record that there is; 0 for an empty journal. */
  first: number
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

export interface ActPage {
  acts: ActRow[]
  /** How many more match, older than these. */
  left_out: number
  /** How many there are in the whole log, and how many of them have no outcome. */
  total: number
  unsettled: number
  /** The number of the newest line of the audit log; 0 for an empty one. */
  last: number
}

export interface ForkNode {
  session_id: string
  title: string | null
  state: SessionState | null
  /** The record of its parent up to which it was copied; null for the root. */
  at_seq: number | null
  forks: ForkNode[]
}

export interface Verification {
  session_id: string
  state: 'whole' | 'torn' | 'damaged'
  findings: string[]
  health: Health | null
}

/** A line of an audit log, and its session. */
export type AuditLineOf = (AuditRecord | Pending<AuditRecord>) & { session_id: string }

/** A moment of the monitor. `disk_bytes` is the temp directory; the others are null if not measured. */
export interface DiskSample {
  at: number
  disk_bytes: number
  sessions_disk_bytes: number | null
  trash_disk_bytes: number | null
  files: number
  scratches: number
  orphans: number
}

export interface DiskView {
  root: string | null
  /** In this view, `disk_bytes` is what the disk lost, and `bytes` the length of the files. */
  now: Record<'entries' | 'scratches' | 'live' | 'orphans' | 'files' | 'bytes' | 'disk_bytes', number>
  by_kind: Record<string, number>
  /** The largest entries of the temp directory. */
  largest: MeasuredEntry[]
  since: number
  history: Activity | null
  /** The monitor's samples. */
  samples: DiskSample[]
  /** The largest sessions; null if this store cannot measure them. */
  sessions: {
    count: number
    bytes: number
    disk_bytes: number
    trash_bytes: number
    trash_disk_bytes: number
    largest: Required<DiskUse>[]
  } | null
  disk: NowView['disk']
}

export interface SweepPlan extends Pick<SweepReport, 'removed' | 'kept' | 'failures'> {
  dry_run: boolean
  bytes_freed: number
}

/** An event or an audit line in which a search found its text. */
export interface SearchHit {
  session_id: string
  title: string | null
  /** Where it was found: in an event, in an audit line, or in the title, program or workspace. */
  log: 'journal' | 'audit' | 'session'
  /** The number of the record in its log; null for a session and a pending event. */
  seq: number | null
  pending?: true
  at: number
  type: string
  path: string | null
  excerpt: string
}
