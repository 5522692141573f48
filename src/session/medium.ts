import type { LogEnd, LogEnds, LogName } from './log/codec.ts'
import type { Manifest } from './manifest.ts'
import type { Holder, ListOptions, RemoveOptions, SessionSummary } from './store.ts'

/**
 * Keeps the lines of sessions: in files, in a database, in memory. `createStore` makes a store of a medium.
 * What the lines mean (records, groups, checksums, slots, recovery, forks, search, secrets) is written once,
 * above it. Ids are checked when they arrive here. Failures are `StintError`s with the codes named below;
 * `stint/driver` exports a function for each.
 */
export interface Medium {
  /** Written into each manifest. A session is resumed only through a medium with the same id. */
  readonly id: string
  /** Creates a session and takes it. `NAME_TAKEN`. */
  create(manifest: Manifest, hold: SessionHold): Promise<HeldMedium>
  /** Takes a session. `NOT_FOUND`; `SESSION_LOCKED` while a living process holds it, without `force`. */
  open(id: string, hold: SessionHold): Promise<HeldMedium>
  /** Opens a session for reading, also while another process writes to it. `NOT_FOUND`. */
  read(id: string): Promise<ReadableMedium>
  /** Creates a session that is not held from the contents of another, whole or not at all. `NAME_TAKEN`. */
  load(manifest: Manifest, contents: SessionContents): Promise<void>
  /** The sessions, in any order. It may ignore options: the store applies them again, `newest` last. */
  list(options: ListOptions): Promise<SessionSummary[]>
  /** Removes a session and frees its id. `NOT_FOUND`; `SESSION_LOCKED` while a living process holds it. */
  remove(id: string, options: RemoveOptions): Promise<void>
  /** Notes damage, so that lists show it and writers verify the session first; undefined: it is gone. */
  noteDamage(id: string, what: string | undefined): Promise<void>
  /** Notes that a process waits for a session. */
  want(id: string): Promise<void>
  /** For which of these sessions any process has called `want` since this was last asked. */
  wanted(ids: readonly string[]): Promise<readonly string[]>
}

/** A session as it is stored. */
export interface ReadableMedium {
  readonly manifest: Manifest
  /** The session as lists show it. */
  readonly summary: SessionSummary
  /** Each log has at least this, as is known apart from the log; `sum` is '' if that is not known. */
  readonly ends: LogEnds
  /** The lines of a log as it is now, from record `from` on or back; it may begin with lines before that. */
  regions(log: LogName, range: RegionRange): AsyncIterable<Region>
  /** The content of a blob in pieces; none if it is missing. */
  blob(sha256: string): AsyncIterable<Uint8Array>
  /** Those of the texts with these names that `saveState` has saved and that are there. */
  state(names: readonly string[]): Promise<ReadonlyMap<string, string>>
}

/**
 * A session held for writing. Once another process has taken it, every method that writes rejects with
 * `FENCED`, and nothing that this holder writes is read. What resolves is durable, except for `saveState`.
 */
export interface HeldMedium extends ReadableMedium {
  /** Higher than that of every earlier hold. */
  readonly epoch: number
  /** The holder that did not release the session, if this process took it over. */
  readonly previous: Holder | undefined
  /** The damage that was noted. */
  readonly damage: string | undefined
  /** Called once, before anything is written: cuts off what follows the last record of each log. */
  begin(tails: Readonly<Record<LogName, LogTail>>): Promise<CutBytes[]>
  /**
   * Adds lines, all or none, and returns where the log ends then. Rejects with `UncertainAppend` if it cannot
   * tell whether they were added. If they were after all, the next append adds nothing and returns that end.
   */
  append(log: LogName, group: LogGroup): Promise<LogEnd>
  putBlob(sha256: string, content: Uint8Array): Promise<void>
  /** Replaces texts of the state. It is a cache: a crash may lose any of them, unless `isClosing`. */
  saveState(texts: ReadonlyMap<string, string>, isClosing: boolean): Promise<void>
  saveManifest(manifest: Manifest): Promise<void>
  /** Shows other processes that the holder is alive. Called every 30 s. */
  beat(): Promise<void>
  /**
   * Gives the session back, with its logs closed. Without a `begin` before it, the session is as it was
   * found; one that was just created is gone. Called again if it rejects.
   */
  release(): Promise<void>
}

/** Why a session is taken, as other processes see it; `force` takes it from a living holder, too. */
export interface SessionHold {
  kind: Holder['kind']
  purpose?: string
  force?: boolean
}

export interface RegionRange {
  from: number
  backwards: boolean
}

/** Bytes of a log: in reports, where they are in a file; '' and 0 if there is none. */
export interface Leftover {
  segment: string
  offset: number
  bytes: number
}

/** Lines, each with its newline; only the last bytes of a log may lack one. Valid until the next region. */
export interface Region extends Omit<Leftover, 'bytes'> {
  bytes: Buffer
}

/** Lines that are added together: where the log ends with them, and when the last of them was appended. */
export interface LogGroup {
  lines: Buffer
  end: LogEnd
  lastAt: number
}

/** Where a log ends, and the bytes after its last record. */
export interface LogTail extends Omit<Leftover, 'bytes'> {
  end: LogEnd
  torn: readonly Leftover[]
}

/** Bytes that `begin` has cut off, with a name for the copy that it keeps. */
export interface CutBytes extends Leftover {
  log: LogName
  kept: string
}

/** The contents of a session on its way into another one. `groups` finds the blobs: call `blobs` after it. */
export interface SessionContents {
  groups(log: LogName): AsyncIterable<LogGroup>
  blobs(): AsyncIterable<{ sha256: string; content: Buffer }>
}

/** An append whose fate is unknown. `reason` is the error for its callers. */
export class UncertainAppend extends Error {
  readonly reason: unknown

  constructor(reason: unknown) {
    super('the lines were added, or not', { cause: reason })
    this.reason = reason
  }
}
