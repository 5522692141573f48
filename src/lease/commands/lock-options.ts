import type { OptionTable } from '../../command/define-command.ts'
import { assertPlainResource, maxTtlMs, targetKind, WorkspaceClaims } from '../index.ts'
import { isSessionId } from '../../base/text/id.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { openLeases, storeOption } from '../../cli/store.ts'

export const targetOptions = {
  workspace: { type: 'string', value: 'DIR', help: 'any directory in the workspace (the current one)' },
  resource: {
    type: 'string',
    value: 'NAME',
    help: 'a resource instead of a workspace: any name that all its users agree on, such as deploy:prod',
  },
  ...storeOption,
} as const satisfies OptionTable

export const sessionOption = {
  session: { type: 'string', value: 'ID', help: 'the session (STINT_SESSION_ID)' },
} as const satisfies OptionTable

/** What the origin of a claim says that a user, and no agent, has made by `stint lock acquire`. */
export const acquireCommand = 'lock acquire'

export const pathOption = (what: string) =>
  ({
    type: 'strings',
    value: 'P',
    help: `${what} file, or this directory and everything below it, relative to DIR; may be repeated`,
  }) as const

export interface TargetChoice {
  workspace?: string
  resource?: string
  store?: string
}

/** Opens the claims on the workspace or resource that a command names. */
export async function openClaims(
  { workspace, resource, store }: TargetChoice,
  warn: (message: string) => void,
): Promise<WorkspaceClaims> {
  if (workspace !== undefined && resource !== undefined)
    throw new StintError('ARG_ERROR', '--workspace and --resource exclude each other')
  if (resource !== undefined) assertPlainResource(resource)
  return WorkspaceClaims.open(await openLeases(store, warn), { workspace, resource })
}

/** A workspace or resource in the form that answers show; `title` is its name for people. */
export const describeTarget = ({ key, title }: { key: string; title: string }) =>
  targetKind({ key, name: title }) === 'resource'
    ? { resource: title, workspace_key: key }
    : { workspace: title, workspace_key: key }

/** The session that a command acts for: the given one, or that of the run around it. */
export function readSession(option: string | undefined): string | undefined {
  const session = option ?? (process.env.STINT_SESSION_ID || undefined)
  if (session === undefined || isSessionId(session)) return session
  throw new StintError(
    'SESSION_ID_INVALID',
    `${JSON.stringify(session.slice(0, 140))} cannot be a session id`,
  )
}

/** Refuses a `--ttl`, in milliseconds, that is longer than any claim lasts. */
export function assertTtl(ttlMs: number | undefined): void {
  if (ttlMs === undefined || (ttlMs > 0 && ttlMs <= maxTtlMs)) return
  throw new StintError('ARG_ERROR', '--ttl must be more than 0 and at most 30d')
}
