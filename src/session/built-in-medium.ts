import type { MediumStore } from './create-store.ts'
import type { MeasuredSessions } from './files/disk-use.ts'
import type { Medium } from './medium.ts'
import type { DamagedSession } from './repair.ts'

/** What the commands need of the media that stint comes with, besides the contract of every medium. */
export interface BuiltInMedium extends Medium {
  /** All ids, or those that begin with `prefix` or `ses_<prefix>`, sorted; nothing else is read. */
  ids(prefix: string): Promise<string[]>
  /** The sessions that were removed and can be brought back, newest removal first. */
  removed(): Promise<RemovedSession[]>
  /** Brings a removed session back, and returns its id. `NOT_FOUND`, `NAME_TAKEN`. */
  restore(name: string): Promise<string>
  /** Measures every session by kind, and those that are removed. */
  measure(): Promise<MeasuredSessions>
  /** Undefined if the sessions are not in files. */
  readonly files: SessionFiles | undefined
}

/** A store that the command line can open. */
export type BuiltInStore = MediumStore<BuiltInMedium>

/** What only a medium of plain files has. */
export interface SessionFiles {
  /** The directory of removed sessions, until the sweep deletes them. */
  readonly trash: string
  /** The directory of a session. */
  path(id: string): string
  /** The paths of everything that was cut off or set aside. */
  quarantined(id: string): string[]
  /** Opens a session whose manifest may be damaged. `NOT_FOUND`. */
  readDamaged(id: string): Promise<DamagedSession>
}

/** A session that was removed, and not deleted yet. */
export interface RemovedSession {
  /** Identifies it among the removed ones: several may have had the same id. */
  name: string
  id: string
  title?: string
  /** Milliseconds since the epoch. */
  removedAt: number
}
