import type { HookEvent } from './event.ts'
import type { HostName } from './hosts/host.ts'
import { hosts } from './hosts/hosts.ts'
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
  const { kind } = to
  if (kind !== 'pre' && kind !== 'post' && kind !== 'start' && kind !== 'prompt') return silence
  const host = hosts[to.host]
  if (!verdict.block) {
    const allow = kind === 'pre' && to.failClosed ? host.allowIfFailClosed : undefined
    const { context } = verdict
    const told = context === undefined ? undefined : host.context?.(context, kind)
    return { ...silence, stdout: line(told ?? allow) }
  }
  // Only a call that is about to run can be refused: the same exit code later would disturb the agent.
  if (kind !== 'pre') return silence
  const guestCode = to.configured === to.host ? undefined : host.refusalExitCodeAsGuest
  return {
    stdout: line(host.refusal?.(verdict.reason)),
    stderr: `${verdict.reason}\n`,
    code: guestCode ?? host.refusalExitCode,
    codeIfUnread: 2,
  }
}

const line = (value: object | undefined): string => (value === undefined ? '' : `${JSON.stringify(value)}\n`)
