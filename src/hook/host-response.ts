import type { HookEvent } from './event.ts'
import type { AgentName } from './hosts.ts'
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
  /** The agent whose settings started this hook. */
  configured: AgentName
  failClosed: boolean
}

const silence: HookResponse = { stdout: '', stderr: '', code: 0, codeIfUnread: 0 }

/**
 * Formats a verdict for its host. An allowed call gets an empty response: in some hosts an explicit "allow"
 * would skip the user's own permission prompt.
 */
export function formatResponse(verdict: Verdict, to: ResponseTarget): HookResponse {
  // Only a tool call can be refused: the same exit code after a turn would make the agent continue for ever.
  if (to.kind !== 'pre') return silence
  return verdict.block ? refusalFormats[to.host](verdict.reason, to) : allow(to)
}

/** Cursor treats an empty response as a failure if it is set to block on failures. */
const allow = ({ host, failClosed }: ResponseTarget): HookResponse =>
  host === 'cursor' && failClosed ? { ...silence, stdout: line({ permission: 'allow' }) } : silence

type RefusalFormat = (reason: string, to: ResponseTarget) => HookResponse

/** Other hosts that read these settings treat exit code 2 as a refusal; the JSON carries the details. */
const claude: RefusalFormat = (reason) => ({
  stdout: line({ hookSpecificOutput: hookSpecificOutput(reason) }),
  stderr: `${reason}\n`,
  code: 2,
  codeIfUnread: 2,
})

const hookSpecificOutput = (reason: string) => ({
  hookEventName: 'PreToolUse',
  permissionDecision: 'deny',
  permissionDecisionReason: reason,
})

/** Copilot before 1.0.57 takes any other exit code than 0 for a failure, and lets the call through. */
const copilot: RefusalFormat = (reason) => ({
  stdout: line({
    permissionDecision: 'deny',
    permissionDecisionReason: reason,
    // Copilot looks here first for a hook from Claude Code's settings.
    hookSpecificOutput: hookSpecificOutput(reason),
  }),
  stderr: `${reason}\n`,
  code: 0,
  codeIfUnread: 2,
})

const cursor: RefusalFormat = (reason, { configured }) => ({
  stdout: line({ permission: 'deny', user_message: reason, agent_message: reason }),
  stderr: `${reason}\n`,
  // Cursor goes by the exit code for a hook from Claude Code's settings.
  code: configured === 'cursor' ? 0 : 2,
  codeIfUnread: 2,
})

/** Gemini reads stdout first, whatever the exit code; the installed command line turns other codes into 0. */
const gemini: RefusalFormat = (reason) => ({
  stdout: line({ decision: 'deny', reason }),
  stderr: `${reason}\n`,
  code: 0,
  codeIfUnread: 2,
})

/** Plain text for a person at a terminal. Exit code 2 is a refusal: no failure on the way has that code. */
const git: RefusalFormat = (reason) => ({ stdout: '', stderr: `${reason}\n`, code: 2, codeIfUnread: 2 })

const refusalFormats: Readonly<Record<AgentName, RefusalFormat>> = {
  claude,
  codex: claude,
  git,
  cursor,
  copilot,
  gemini,
  opencode: claude,
}

const line = (value: object): string => `${JSON.stringify(value)}\n`
