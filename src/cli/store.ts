import type { OptionTable } from '../command/define-command.ts'
import { homeStore, type LeaseStore } from '../lease/index.ts'
import { StintError } from '../base/errors/stint-error.ts'
import { type BuiltInStore, createStore, FilesMedium, type SessionFiles } from '../session/index.ts'

export const storeOption = {
  store: {
    type: 'string',
    value: 'URL',
    help: 'where it is kept: postgres://… or files (STINT_STORE, files)',
  },
} as const satisfies OptionTable

type Warn = (message: string) => void

/** The URL of the PostgreSQL server that `STINT_STORE` names; undefined for files. */
export const storeOfEnvironment = (): string | undefined =>
  serverIn(process.env.STINT_STORE ?? '', 'STINT_STORE')

/** The URL of the PostgreSQL server to use, as `--store` or `STINT_STORE` says; undefined for files. */
function readStore(storeName: string | undefined, warn: Warn): string | undefined {
  if (storeName === undefined) return storeOfEnvironment()
  hidePassword(storeName, warn)
  return serverIn(storeName, '--store')
}

function serverIn(store: string, name: string): string | undefined {
  if (store === '' || store === 'files') return undefined
  if (/^postgres(ql)?:\/\//i.test(store)) return store
  // The message does not show the value: it may contain a password.
  throw new StintError('ARG_ERROR', `${name} does not name a store`, {
    hint: 'Set it to files, or to the URL of a PostgreSQL server: postgres://user@host:5432/database',
  })
}

/** The URL of the server, for a command that works on nothing else. */
export function needServer(storeName: string | undefined, warn: Warn): string {
  const url = readStore(storeName, warn)
  if (url !== undefined) return url
  throw new StintError('ARG_ERROR', 'no database given', {
    hint: 'Give its URL in STINT_STORE: postgres://user@host:5432/database',
  })
}

/** Opens the store of leases: in files, unless a server is named. */
export const openLeases = async (storeName: string | undefined, warn: Warn): Promise<LeaseStore> =>
  (await openServerLeases(storeName, warn)) ?? homeStore()

/** Opens the leases on the server that is named; undefined if none is. */
export async function openServerLeases(
  storeName: string | undefined,
  warn: Warn,
): Promise<LeaseStore | undefined> {
  const url = readStore(storeName, warn)
  if (url === undefined) return undefined
  const { openPostgresLeases } = await import('../postgres/commands/open-postgres.ts')
  return openPostgresLeases(url)
}

/** Opens the store of sessions: in files, unless a server is named. */
export async function openStore(storeName: string | undefined, warn: Warn): Promise<BuiltInStore> {
  const url = readStore(storeName, warn)
  if (url === undefined) return createStore(new FilesMedium())
  const { openPostgresStore } = await import('../postgres/commands/open-postgres.ts')
  return openPostgresStore(url)
}

/** A store in files, and what only files can do. */
interface FilesStore {
  store: BuiltInStore
  files: SessionFiles
}

/**
 * Opens the sessions in files, for a command that works on nothing else. Refused while `STINT_STORE` names a
 * server, so that a user does not take the one for the other. `what` names the operation.
 */
export async function openFilesStore(what: string): Promise<FilesStore> {
  const medium = new FilesMedium()
  if (storeOfEnvironment() === undefined) return { store: createStore(medium), files: medium.files }
  throw new StintError('ARG_ERROR', `${what} works on sessions in files, and STINT_STORE names a server`, {
    hint: 'Set STINT_STORE=files for it; `stint sessions copy ID --to files` brings a session there.',
    detail: `store=${medium.id}`,
  })
}

/** Hides a password from the process list, which shows every argument to every user of the machine. */
function hidePassword(url: string, warn: Warn): void {
  if (!/:\/\/[^@]*:[^@]*@|[?&]password=/i.test(url)) return
  process.title = 'stint'
  warn('the process list shows a password in --store to every user: put the URL in STINT_STORE')
}
