import type { OptionTable } from '../../command/option.ts'
import type { Book } from '../../lease/workspace-claims.ts'
import { wholeWorkspace } from '../../lease/claim.ts'
import {
  targetKind,
  resourceTarget,
  type LeaseTarget,
  pathsInTarget,
  workspaceTarget,
} from '../../lease/lease-target.ts'
import { isSessionId } from '../../base/text/id.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { openRegister, storeOption } from '../store.ts'

export const targetOptions = {
  workspace: { type: 'string', value: 'DIR', help: 'any directory in the workspace (the current one)' },
  resource: {
    type: 'string',
    value: 'NAME',
    help: 'a resource instead of a workspace: any name that everybody uses, such as deploy:prod',
  },
  ...storeOption,
} as const satisfies OptionTable

export const sessionOption = {
  session: { type: 'string', value: 'ID', help: 'the session (STINT_SESSION_ID)' },
} as const satisfies OptionTable

export interface TargetChoice {
  workspace?: string
  resource?: string
  store?: string
}

/** The book of what a command is about, and the subject it is the book of. */
export interface OpenBook extends Book {
  subject: LeaseTarget
  /** Paths as claims name them; all of it if none are given. Relative to the directory that was named, else the current one. */
  pathsOf: (paths: readonly string[]) => readonly string[]
}

export async function openBook(
  { workspace, resource, store }: TargetChoice,
  warn: (message: string) => void,
): Promise<OpenBook> {
  if (workspace !== undefined && resource !== undefined)
    throw new StintError('ARG_ERROR', '--workspace and --resource exclude each other')
  const register = await openRegister(store, warn)
  const subject =
    resource === undefined ? workspaceTarget(workspace, register) : resourceTarget(resource, register)
  const pathsOf = (paths: readonly string[]): readonly string[] =>
    paths.length === 0 ? wholeWorkspace : pathsInTarget(subject, register, paths, workspace)
  return { register, key: subject.key, workspace: subject.name, subject, pathsOf }
}

/** What a lease is on, as answers show it. */
export const describeTarget = (key: string, name: string) =>
  targetKind(key, name) === 'resource'
    ? { resource: name, workspace_key: key }
    : { workspace: name, workspace_key: key }

/** The session a command acts for: as given, or that of the run it is called in. */
export function readSession(given: string | undefined): string | undefined {
  const session = given ?? (process.env.STINT_SESSION_ID || undefined)
  if (session === undefined || isSessionId(session)) return session
  throw new StintError(
    'SESSION_ID_INVALID',
    `${JSON.stringify(session.slice(0, 140))} cannot be a session id`,
  )
}

export function needSession(given: string | undefined): string {
  const session = readSession(given)
  if (session !== undefined) return session
  throw new StintError('ARG_ERROR', 'no session given', {
    hint: 'Give it with --session ID, or in STINT_SESSION_ID.',
  })
}
