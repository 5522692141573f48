import type { OptionTable } from '../command/option.ts'
import { homeRegister, type Register } from '../lease/index.ts'
import { StintError } from '../base/errors/stint-error.ts'

export const storeOption = {
  store: {
    type: 'string',
    value: 'URL',
    help: 'where it is kept: postgres://… or files (STINT_STORE, files)',
  },
} as const satisfies OptionTable

/** The URL of the PostgreSQL server that `STINT_STORE` names; undefined for files. */
export const storeOfEnvironment = (): string | undefined =>
  serverIn(process.env.STINT_STORE ?? '', 'STINT_STORE')

/** The URL of the PostgreSQL server to use, as given or as `STINT_STORE` says; undefined for files. */
export function readStore(given: string | undefined, warn: (message: string) => void): string | undefined {
  if (given === undefined) return storeOfEnvironment()
  hidePassword(given, warn)
  return serverIn(given, '--store')
}

function serverIn(store: string, name: string): string | undefined {
  if (store === '' || store === 'files') return undefined
  if (/^postgres(ql)?:\/\//i.test(store)) return store
  // Not shown: a password may be in it.
  throw new StintError('ARG_ERROR', `${name} is not a store`, {
    hint: 'It is files, or the URL of a PostgreSQL server: postgres://user@host:5432/database',
  })
}

/** For what is about the server itself. */
export function needServer(given: string | undefined, warn: (message: string) => void): string {
  const url = readStore(given, warn)
  if (url !== undefined) return url
  throw new StintError('ARG_ERROR', 'no database given', {
    hint: 'Give its URL in STINT_STORE: postgres://user@host:5432/database',
  })
}

/** Where leases are kept: in files, unless a store is named. */
export async function openRegister(
  given: string | undefined,
  warn: (message: string) => void,
): Promise<Register> {
  const url = readStore(given, warn)
  if (url === undefined) return homeRegister()
  const { openPostgresRegister } = await import('./postgres/open-postgres.ts')
  return openPostgresRegister(url)
}

/** The list of processes shows every argument to every user of the machine. */
function hidePassword(url: string, warn: (message: string) => void): void {
  if (!/:\/\/[^@]*:[^@]*@|[?&]password=/i.test(url)) return
  process.title = 'stint'
  warn('the process list shows a password in --store to every user: put the URL in STINT_STORE')
}
