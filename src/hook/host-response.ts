import type { HookEvent } from './event.ts'
import type { HostName } from './host.ts'
import { hosts } from './hosts.ts'
import type { Verdict } from './verdict.ts'

/** The output and exit code of a hook, in the format of its host. */
export interface HookResponse {
  stdout: string
  stderr: string
  code: number
  /** The exit code if stdout is not read: a refusal must not get lost with it. */
  codeIfUnread: number
}

/** The event that a response is for. */
export interface ResponseTarget extends Pick<HookEvent, 'host' | 'kind'> {
  /** The host whose settings started this hook. */
  configured: HostName
  failClosed: boolean
}

const silence: HookResponse = { stdout: '', stderr: '', code: 0, codeIfUnread: 0 }

/** Formats a verdict for its host. */
export function formatResponse(verdict: Verdict, to: ResponseTarget): HookResponse {
  // Only a tool call can be refused: the same exit code after a turn would make the agent continue for ever.
  if (to.kind !== 'pre') return silence
  const host = hosts[to.host]
  if (!verdict.block) {
    const { context } = verdict
    const allow = to.failClosed ? host.allowIfFailClosed : undefined
    return { ...silence, stdout: line(context === undefined ? allow : (host.context?.(context) ?? allow)) }
  }
  const guestCode = to.configured === to.host ? undefined : host.refusalExitCodeAsGuest
  return {
    stdout: line(host.refusal?.(verdict.reason)),
    stderr: `${verdict.reason}\n`,
    code: guestCode ?? host.refusalExitCode,
    codeIfUnread: 2,
  }
}

const line = (value: object | undefined): string => (value === undefined ? '' : `${JSON.stringify(value)}\n`)
