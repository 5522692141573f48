import { join } from 'node:path'
import { systemClock } from '../../base/process/clock.ts'
import { listIfExists, nodeDisk } from '../../base/fs/disk.ts'
import { withHomeErrors, stintHome } from '../../base/fs/home.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { noteDamage } from '../../session/files/damage-marker.ts'
import { filesystemId, locateSession, sessionIdsIn } from '../../session/files/find-session.ts'
import { readTransferFromFiles, writeTransferToFiles } from '../../session/files/transfer.ts'
import { sessionPathsIn } from '../../session/files/paths.ts'
import { listSpoolFiles } from '../../session/files/spool.ts'
import { filesystemStore } from '../../session/files/store.ts'
import type { SessionTransfer } from '../../session/transfer.ts'
import type { SessionStore } from '../../session/store.ts'
import { readStore, storeOfEnvironment } from '../store.ts'

/** The sessions that commands work on, and what only the place where they are kept can tell. */
export interface OpenSessions {
  store: SessionStore
  /** Their ids, or those that begin like this, with or without `ses_`. */
  ids(beginning?: string): Promise<string[]>
  /** Throws `NOT_FOUND` once it is gone. */
  assertThere(id: string): Promise<void>
  /** What lies beside a session: its files, what visitors left, what was set aside. */
  beside(id: string): Promise<{ path: string | null; spooled: number; quarantined: string[] }>
  /** What to do about damage, where nothing can be repaired. */
  damageHint?: string
  /** So that a list shows it. */
  noteDamage(id: string, what: string): Promise<void>
  /** Where sessions go that are removed; null if they stay where they are, out of sight. */
  trash: string | null
  /** A session on its way to another store, and one that comes from there. */
  pack(id: string): Promise<SessionTransfer>
  unpack(parcel: SessionTransfer, id: string | undefined): Promise<string>
}

/** In files, unless a store is named. */
export async function openSessions(
  given: string | undefined,
  warn: (message: string) => void,
): Promise<OpenSessions> {
  const url = readStore(given, warn)
  if (url === undefined) return sessionsInFiles()
  const { openPostgresSessions } = await import('../postgres/open-postgres.ts')
  return openPostgresSessions(url)
}

function sessionsInFiles(): OpenSessions {
  const directory = sessionsDirectory()
  const home = stintHome()
  const trash = join(home, 'trash')
  const pathsOf = (id: string) => sessionPathsIn(join(directory, id))
  return {
    store: filesystemStore(),
    async ids(beginning = '') {
      return sessionIdsIn(nodeDisk, directory)
        .filter((id) => id.startsWith(beginning) || id.startsWith(`${idPrefix}${beginning}`))
        .sort()
    },
    assertThere: async (id) => void locateSession(directory, id),
    async beside(id) {
      const paths = pathsOf(id)
      const { root, quarantine } = paths
      return withHomeErrors(home, `look into ${root}`, () => {
        const quarantined = listIfExists(nodeDisk, quarantine).map((name) => join(quarantine, name))
        return { path: root, spooled: listSpoolFiles(nodeDisk, paths).length, quarantined }
      })
    },
    noteDamage: async (id, what) => noteDamage(nodeDisk, pathsOf(id), what, systemClock.now()),
    trash,
    pack: async (id) => readTransferFromFiles(nodeDisk, directory, id),
    unpack: (parcel, id) =>
      writeTransferToFiles(parcel, { disk: nodeDisk, home, id, now: systemClock.now() }),
  }
}

const idPrefix = 'ses_'

/** The directory of all sessions. */
export const sessionsDirectory = (): string => join(stintHome(), 'sessions')

/** For commands that only know sessions in files. Refused where `STINT_STORE` names a server: nobody should take one for the other. */
export function openFiles(what: string): OpenSessions {
  if (storeOfEnvironment() === undefined) return sessionsInFiles()
  throw new StintError('ARG_ERROR', `${what} works on sessions in files, and STINT_STORE names a server`, {
    hint: 'Set STINT_STORE=files for it; `stint sessions copy ID --to files` brings a session there.',
    detail: `store=${filesystemId}`,
  })
}
