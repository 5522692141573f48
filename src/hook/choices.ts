/** What a call must hold: the whole workspace, or only the files it edits. */
export type Scope = 'workspace' | 'paths'

/** Until when a session keeps what it holds: the end of its turn, or its own end. */
export type Hold = 'turn' | 'session'

/** What a person chooses when installing. A choice that is left out is the default of `stint-hook`. */
export interface HookChoices {
  scope?: Scope
  hold?: Hold
  /** A hook that fails, or is gone, blocks the call. */
  failClosed?: boolean
  /** Each tool call goes into the session's journal and audit. */
  record?: boolean
}
