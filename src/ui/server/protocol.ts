/**
 * The JSON that `stint ui` serves, for the page and for scripts: see `docs/ui.md`. Times are milliseconds
 * since the epoch. Strings come from agents and repositories: a reader shows them as text, never as markup.
 *
 * A failed request has a status of 400 or more and the body `ErrorBody`.
 */
import type { Check } from '../../cli/health/check.ts'
import type { NextStep } from '../../cli/status/overview.ts'
import type { ClaimDescription, WaiterDescription } from '../../lease/commands/describe.ts'
import type { ClaimActivity, ClaimOrigin } from '../../lease/index.ts'
import type { DescribedSet } from '../../points/commands/changes.ts'
import type { describePlan } from '../../points/commands/undo.ts'
import type { SessionDescription } from '../../session/commands/list.ts'
import type { describeFound } from '../../session/commands/search.ts'
import type { SessionEvent, SessionState, UnsettledAct } from '../../session/index.ts'
import type { describeConversation, Entry } from '../../vault/index.ts'

export type { ClaimActivity, ClaimDescription, SessionDescription, WaiterDescription }

/** Every endpoint. Those with GET take their parameters from the query, actions from the JSON of the body. */
export interface Answers {
  /** Body `{ token }`. The only request without the header `Authorization: Bearer SECRET`. */
  'POST /api/token': { secret: string }
  'GET /api/now': NowView
  /** Workspaces and resources that have claims, waiters or a history: first those in use. */
  'GET /api/workspaces': { workspaces: WorkspaceRow[] }
  /** `?key=KEY[&within=MS]`: as `stint lock status` and `lock history` show it. */
  'GET /api/workspace': WorkspaceView
  /** `?[state=S][&text=T][&from=N][&limit=N]`: as `stint sessions list` and `stint vault list`. */
  'GET /api/sessions': SessionPage
  /** `?id=ID`: as `stint sessions show`. */
  'GET /api/session': SessionView
  /** `?id=ID[&before=SEQ][&limit=N]`: the records right before one, or the newest, and their acts. */
  'GET /api/events': EventPage
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
  /** As `stint undo`. */
  'POST /api/actions/undo': ReturnType<typeof describePlan>
  'POST /api/actions/break': { broken: boolean; session_id: string; fence: number | null }
  'POST /api/actions/unlock': { session_id: string; unlocked: boolean }
  'POST /api/actions/trash': { session_id: string; trash: string | null }
}

/** The body of each action. */
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

/** The state of a session, what needs a person first. The first that fits counts: see `docs/ui.md`. */
export const tileStates = ['crashed', 'damaged', 'waiting', 'working', 'background', 'idle'] as const
export type TileState = (typeof tileStates)[number]

/** One session, as far as claims, waiters, prompts and the store know it. */
export interface SessionTile {
  session_id: string
  state: TileState
  /** When this state began, as far as that is known. */
  since: number
  origin: ClaimOrigin | null
  /** The agent's name, or the program of a recorded session. */
  agent: string | null
  pid: number | null
  /** The first words of its prompt, the purpose of its claim, or the title of its record. */
  task: string | null
  /** What it holds. The first is the one to show where there is room for one. */
  holds: { key: string; name: string; paths: readonly string[]; fence: number }[]
  /** What it runs now, in the words of `stint status`: "runs `npm test` (pid 12)". */
  doing: string | null
  /** Present in the state `waiting`: the place, and the sessions in the way. */
  waits_for: { key: string; name: string; paths: readonly string[]; held_by: string[] } | null
  /** The workspace or resource that it holds or waits for, or where it works. */
  workspace: string | null
  /** Its last sign of life. */
  last_at: number
  /** Its state in the store; null if the session is not recorded. */
  recorded: SessionState | null
}

export interface NowView {
  /** A tile for each session: what needs a person first. */
  tiles: SessionTile[]
  /** Refusals, takeovers and broken claims of the last hour, newest first, at most 50. */
  incidents: (ClaimActivity & { key: string; name: string })[]
  /** The one thing to do next, as `stint` shows it. */
  next: NextStep
  /** What `stint status` tells to do. */
  findings: Check[]
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
export interface WorkspaceView {
  key: string
  name: string
  store: WorkspaceRow['store']
  claims: ClaimDescription[]
  waiters: WaiterDescription[]
  from: number
  to: number
  /** What happened in this time, oldest first. */
  activities: ClaimActivity[]
}

/** A conversation in the vault. */
export type TranscriptDescription = ReturnType<typeof describeConversation> & {
  /** The name of the agent for people. */
  agent_title: string
  /** A shell line that continues it; null if its agent has none. */
  resume: string | null
}

export interface SessionPage {
  /** Recorded sessions and conversations in the vault, newest activity first; those of one id are one row. */
  sessions: {
    session_id: string
    recorded: SessionDescription | null
    transcript: TranscriptDescription | null
  }[]
  /** The place of the first in the list, and how many match. */
  from: number
  total: number
}

/** A recorded session. */
export interface SessionView extends SessionDescription {
  /** The epoch of its hold, for the action `unlock`; null if it is not held. */
  epoch: number | null
  /** `value` is the begin of its JSON. */
  slots: { ext: string; version: string; bytes: number; value: string }[]
  /** The acts without an outcome: each may have been performed. */
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

export interface TranscriptView {
  transcript: TranscriptDescription
  /** What was said or done, in order, without secrets. */
  entries: {
    /** The line of the transcript. */
    line: number
    at: number | null
    who: Entry['who']
    /** The tool that was called. */
    tool: string | null
    text: string
    /** The length of the text, if only its begin is here. */
    cut: number | null
  }[]
  has_earlier: boolean
  has_later: boolean
}

/** Where a search found its text: events of the newest session first, then transcripts. */
export interface SearchAnswer {
  hits: (ReturnType<typeof describeFound> & {
    title: string | null
    /** It is in a conversation of the vault, not in a recorded session: `seq` is the number of its line. */
    is_transcript: boolean
  })[]
  /** Sessions that could not be read in full. */
  unreadable: { session_id: string; message: string }[]
}

/** A change set: a turn of a session, an undo, or what happened between claims. See `docs/undo.md`. */
export interface ChangeRow extends Omit<DescribedSet, 'files'> {
  /** The key of its workspace, and its path. */
  key: string
  workspace: string
  /** How many files were changed. */
  files: number
}

export interface ChangeList {
  changes: ChangeRow[]
  /** How many older ones are left out. */
  older: number
}

export interface ChangeView extends ChangeRow {
  diffs: {
    path: string
    change: 'added' | 'deleted' | 'changed' | 'moved'
    moved_from: string | null
    is_binary: boolean
    added: number
    removed: number
    /** As in a diff: each begins with `@`, a space, `+`, `-` or a backslash. */
    lines: string[]
    lines_left_out: number
  }[]
  files_left_out: number
}

/** An undo as `stint undo --dry-run --json` shows it. */
export type UndoPreview = ReturnType<typeof describePlan> & {
  /** Identifies what was shown, for the action `undo`. */
  plan: string
}
