/**
 * The JSON that `stint ui` serves, for the page and for scripts: see `docs/ui.md`. Times are milliseconds
 * since the epoch. Strings come from agents and repositories: a reader shows them as text, never as markup.
 *
 * A failed request has a status of 400 or more and the body `ErrorBody`.
 */
import type { ClaimActivity, ClaimMode, ClaimOrigin } from '../lease/index.ts'
import type { SessionEvent, SessionState, UnsettledAct } from '../session/index.ts'

export type { ClaimActivity, ClaimMode, ClaimOrigin, SessionEvent, SessionState, UnsettledAct }

/** Every endpoint that answers with one JSON object. `:id` is the exact id of a session. */
export interface Answers {
  /** Body `{ token }`. The only request without the header `Authorization: Bearer SECRET`. */
  'POST /api/token': TokenAnswer
  /** A tile for each session, runs, findings, refusals. */
  'GET /api/now': NowView
  /** Workspaces and resources that have claims, waiters or a history. */
  'GET /api/workspaces': WorkspaceList
  /** `?key=KEY[&from=AT]`: as `stint lock status` and `lock history` show it. */
  'GET /api/workspace': WorkspaceView
  /** `?[state=S][&text=T][&from=N][&limit=N]`: as `stint sessions list` and `stint vault list`. */
  'GET /api/sessions': SessionPage
  /** As `stint sessions show`. */
  'GET /api/sessions/:id': SessionView
  /** `?[before=SEQ][&limit=N]`: the records right before one, or the newest, and the acts of their time. */
  'GET /api/sessions/:id/events': EventPage
  /** `?id=ID[&from=LINE|&before=LINE][&limit=N]`: as `stint vault show`. */
  'GET /api/transcript': TranscriptView
  /** `?q=TEXT[&limit=N]`: as `stint sessions search`. */
  'GET /api/search': SearchAnswer
  /** `?[key=KEY][&limit=N]`: change sets of all workspaces, or of one, newest first. */
  'GET /api/changes': ChangeList
  /** `?key=KEY&id=ID`: one change set with its diff. */
  'GET /api/change': ChangeView
  /** `?key=KEY&id=ID`: what undoing it would write, as `stint undo --dry-run`. */
  'GET /api/change/undo': UndoPreview
  'POST /api/actions/undo': UndoAnswer
  'POST /api/actions/break': { broken: boolean; session_id: string; fence: number | null }
  /** `unsettled` has the acts without an outcome: each may have been performed. */
  'POST /api/actions/unlock': { session_id: string; unlocked: boolean; unsettled: SessionView['unsettled'] }
  'POST /api/actions/trash': { session_id: string; trash: string | null }
}

/** The body of each action. Each is refused with `READ_ONLY` under `stint ui --read-only`. */
export interface ActionBodies {
  /** `fence` is that of the claim on the screen: a newer claim is not broken. */
  break: { key: string; session_id: string; fence: number; reason?: string }
  /**
   * `epoch` and `since` are those of the holder on the screen: a later holder is not unlocked. A session
   * whose holder has died is closed.
   */
  unlock: { session_id: string; epoch: number; since: number }
  trash: { session_id: string }
  /** `plan` is that of the preview on the screen: another undo is not written. */
  undo: { key: string; id: string; plan: string }
}

export interface ErrorBody {
  error: { code: string; message: string; hint?: string }
}

export interface TokenAnswer {
  /** For `Authorization: Bearer SECRET`, until this server ends. */
  secret: string
  read_only: boolean
}

/**
 * - `crashed`: its process died. `damaged`: records are missing or changed. A person should look at these.
 * - `waiting`: it waits for a claim. `working`: it holds one. `background`: its turn is over and processes of
 *   it still run. `idle`: none of these.
 */
export const tileStates = ['crashed', 'damaged', 'waiting', 'working', 'background', 'idle'] as const
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
  holds: { key: string; name: string; paths: readonly string[]; fence: number }[]
  /** What it runs now, in the words of `stint status`: "runs `npm test` (pid 12)". */
  work: { pid: number; command: string; text: string } | null
  /** Present in the state `waiting`: the place, and the sessions in the way. */
  waits_for: { key: string; name: string; paths: readonly string[]; since: number; held_by: string[] } | null
  /** The workspace or resource that it holds or waits for, or where it works. */
  workspace: string | null
  /** Its last sign of life. */
  last_at: number
  /** Its state in the store; null if the session is not recorded. */
  recorded: SessionState | null
}

export interface NowView {
  read_only: boolean
  /** What needs a person first; at most 200. */
  tiles: SessionTile[]
  /** The sessions, also those without a tile, by tile state. */
  totals: Record<TileState, number>
  runs: NowRun[]
  /** Refusals, takeovers and broken claims of the last hour, newest first, at most 50. */
  incidents: Incident[]
  /** The one thing to do next, as `stint` shows it; `step` is null if there is nothing to do. */
  next: { step: string | null; why: string }
  /** What `stint status` tells to do. */
  findings: { name: string; level: string; text: string; fix: string | null }[]
}

/** The fields that the page uses of a claim in `stint lock status --json`. */
export interface ClaimRow {
  session_id: string
  /** `leftover`: its turn is over or its agent has died, and a process of it still runs. */
  state: 'held' | 'leftover'
  acquired_at: number
  paths: string[]
  mode: ClaimMode
  fence: number
  purpose: string | null
  origin: ClaimOrigin | null
  work: SessionTile['work']
}

/** The fields that the page uses of a waiter in `stint lock status --json`. */
export interface WaiterRow {
  session_id: string
  since: number
  paths: readonly string[]
  origin: ClaimOrigin | null
}

/** A program under `stint run`, and what it has in the temp directory. */
export interface NowRun {
  session_id: string | null
  command: string | null
  pid: number | null
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

export interface WorkspaceRow {
  key: string
  /** The path of a workspace, or the name of a resource. */
  name: string
  store: 'files' | 'postgres'
  claims: number
  waiters: number
  /** The newest activity; null if there is no history. */
  last_at: number | null
}

/** A workspace over time. */
export interface WorkspaceView extends Pick<WorkspaceRow, 'key' | 'name' | 'store'> {
  claims: ClaimRow[]
  waiters: WaiterRow[]
  from: number
  to: number
  /** What happened in this time, oldest first. */
  activities: ClaimActivity[]
}

/** The fields that the page uses of a session in `stint sessions list --json`. */
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
  holder: { pid: number; liveness: string; since: number } | null
}

/** A conversation in the vault, with what `stint vault list --json` has of it. */
export interface ListedTranscript {
  agent: string
  /** The name of the agent for people. */
  agent_title: string
  id: string
  title: string | null
  workspace: string | null
  bytes: number
  generations: number
  last_at: number
  /** The agent has lost it, and had it at this time; null if it has it. */
  lost_after: number | null
  /** When the agent will delete it, unless it is continued; null if it will not. */
  due_at: number | null
  /** A shell line that continues it; null if its agent has none. */
  resume: string | null
}

/** A recorded session, a conversation in the vault, or both of the same id. */
export interface SessionListRow {
  session_id: string
  recorded: ListedSession | null
  transcript: ListedTranscript | null
}

/** Something that was said or done in a conversation, without secrets. */
export interface TranscriptEntry {
  /** The line of the transcript. */
  line: number
  at: number | null
  who: 'user' | 'assistant' | 'tool'
  /** The tool that was called. */
  tool: string | null
  text: string
  /** The length of the text, if only its begin is here. */
  cut: number | null
}

export interface TranscriptView {
  transcript: ListedTranscript
  /** In their order. */
  entries: TranscriptEntry[]
  has_earlier: boolean
  has_later: boolean
}

export interface SessionPage {
  sessions: SessionListRow[]
  /** The place of the first in the list, newest activity first, and how many match. */
  from: number
  total: number
}

/** A session, with what `stint sessions show --json` has besides. */
export interface SessionView extends ListedSession {
  /** The epoch of its hold, for the action `unlock`; null if it is not held. */
  epoch: number | null
  slots: { ext: string; version: string; bytes: number; value: string }[]
  unsettled: UnsettledAct[]
}

/** An event. Of a large payload, `data` is the begin of its JSON, and `cut` the length of all of it. */
export type EventRow = SessionEvent & { cut?: number }

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
  seq: number
  act: string | null
  at: number
  type: 'act' | 'note'
  action: string
  subject: string | null
  key: string | null
  /** Null if there is no outcome: the act was performed, or not, or half. */
  outcome: { at: number; duration_ms: number; ok: boolean; error: string | null } | null
  /** The begin of its JSON, with an ellipsis, if it is large. */
  detail: unknown
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
  /** The number of the record, or of the line of a transcript. */
  seq: number
  /** It is in a conversation of the vault, not in a recorded session. */
  is_transcript: boolean
  at: number
  type: string
  path: string | null
  excerpt: string
}

/** A change set: a turn of a session, an undo, or what happened between claims. See `docs/undo.md`. */
export interface ChangeRow {
  /** The key of its workspace, and its path. */
  key: string
  workspace: string
  id: string
  kind: 'turn' | 'undo' | 'redo' | 'outside'
  session_id: string | null
  agent: string | null
  /** The first words of the prompt. */
  words: string | null
  began_at: number
  /** Null while the turn goes on. */
  ended_at: number | null
  end: 'seen' | 'unseen' | 'open'
  complete: boolean
  head_moved: boolean
  undone: 'no' | 'partly' | 'yes'
  /** Changed files, and lines in them. */
  files: number
  added: number
  removed: number
  /** Files that are not kept, and why. */
  left_out: string[]
}

export interface ChangeList {
  changes: ChangeRow[]
  /** How many older ones are left out. */
  older: number
}

export interface ChangeView extends ChangeRow {
  diffs: FileDiff[]
  files_left_out: number
}

/** The changes of one file. */
export interface FileDiff {
  path: string
  change: 'added' | 'deleted' | 'changed' | 'moved'
  moved_from: string | null
  is_binary: boolean
  added: number
  removed: number
  /** As in a diff: each begins with `@`, a space, `+`, `-` or a backslash. */
  lines: string[]
  lines_left_out: number
}

export interface UndoPreview {
  files: { path: string; effect: string }[]
  conflicts: { path: string; why: string }[]
  /** Files that stay, because they are ignored again. */
  kept: string[]
  /** Identifies what was shown, for the action `undo`. */
  plan: string
}

export interface UndoAnswer {
  /** The change set of the undo; null if nothing had to be written. */
  id: string | null
  files: number
  /** Files whose undone contents are still staged in git. */
  staged: string[]
}
