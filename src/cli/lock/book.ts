import type { OptionTable } from '../../command/option.ts'
import type { Book } from '../../lease/book.ts'
import { homeRegister } from '../../lease/lock-home.ts'
import { findWorkspace } from '../../lease/workspace.ts'
import { isSessionId } from '../../primitives/id.ts'
import { StintError } from '../../primitives/stint-error.ts'

export const workspaceOption = {
  workspace: { type: 'string', value: 'DIR', help: 'any directory in the workspace (the current one)' },
} as const satisfies OptionTable

export const sessionOption = {
  session: { type: 'string', value: 'ID', help: 'the session (STINT_SESSION_ID)' },
} as const satisfies OptionTable

/** The book of the workspace a command is about. Paths that come with it are relative to the same directory. */
export function openBook(directory: string | undefined): Book {
  const { path, key } = findWorkspace(directory)
  return { register: homeRegister(), key, workspace: path }
}

/** The session a command acts for: as given, or that of the run it is called in. */
export function readSession(given: string | undefined): string | undefined {
  const session = given ?? (process.env.STINT_SESSION_ID || undefined)
  if (session === undefined || isSessionId(session)) return session
  throw new StintError('ARG_ERROR', `${JSON.stringify(session.slice(0, 140))} cannot be a session id`)
}

export function needSession(given: string | undefined): string {
  const session = readSession(given)
  if (session !== undefined) return session
  throw new StintError('ARG_ERROR', 'which session?', {
    hint: 'Give it with --session ID, or in STINT_SESSION_ID.',
  })
}
