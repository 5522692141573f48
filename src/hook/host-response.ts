import type { HookEvent } from './event.ts'
import type { AgentName } from './hosts.ts'
import type { Verdict } from './verdict.ts'

/** What a process says to its host. */
export interface Answer {
  stdout: string
  stderr: string
  code: number
  /** The code if nobody reads stdout: a refusal must not get lost with it. */
  unheard: number
}

export interface Addressee extends Pick<HookEvent, 'host' | 'kind'> {
  /** Whose settings we were started from. */
  configured: AgentName
  failClosed: boolean
}

const silence: Answer = { stdout: '', stderr: '', code: 0, unheard: 0 }

/**
 * A verdict as the host understands it. Nothing is said where nothing must be: an explicit "allow" would skip the user's own permission
 * prompt in some.
 */
export function speak(verdict: Verdict, to: Addressee): Answer {
  // Only a tool call can be refused: the same exit code after a turn would send the agent round for ever.
  if (to.kind !== 'pre' || !verdict.block) return to.kind === 'pre' ? allow(to) : silence
  return dialects[to.host](verdict.reason, to)
}

/** Cursor takes silence for a failure if it is to block on those. */
const allow = ({ host, failClosed }: Addressee): Answer =>
  host === 'cursor' && failClosed ? { ...silence, stdout: line({ permission: 'allow' }) } : silence

type Dialect = (reason: string, to: Addressee) => Answer

/** Exit code 2 with the reason on stderr is refused by whoever else may read these settings; the JSON says it more finely. */
const claude: Dialect = (reason) => ({
  stdout: line({ hookSpecificOutput: hookSpecificOutput(reason) }),
  stderr: `${reason}\n`,
  code: 2,
  unheard: 2,
})

const hookSpecificOutput = (reason: string) => ({
  hookEventName: 'PreToolUse',
  permissionDecision: 'deny',
  permissionDecisionReason: reason,
})

/** Told by JSON and exit code 0: Copilot before 1.0.57 takes any other code for a failure, and lets the call through. */
const copilot: Dialect = (reason) => ({
  stdout: line({
    permissionDecision: 'deny',
    permissionDecisionReason: reason,
    // For a hook from Claude Code's settings, it looks here first.
    hookSpecificOutput: hookSpecificOutput(reason),
  }),
  stderr: `${reason}\n`,
  code: 0,
  unheard: 2,
})

const cursor: Dialect = (reason, { configured }) => ({
  stdout: line({ permission: 'deny', user_message: reason, agent_message: reason }),
  stderr: `${reason}\n`,
  // From Claude Code's settings, it goes by the exit code.
  code: configured === 'cursor' ? 0 : 2,
  unheard: 2,
})

/** Gemini reads stdout first, whatever the exit code, and its command line turns other codes into 0. */
const gemini: Dialect = (reason) => ({
  stdout: line({ decision: 'deny', reason }),
  stderr: `${reason}\n`,
  code: 0,
  unheard: 2,
})

/** For people at a terminal. Exit code 2, which nothing that goes wrong on the way has. */
const git: Dialect = (reason) => ({ stdout: '', stderr: `${reason}\n`, code: 2, unheard: 2 })

const dialects: Readonly<Record<AgentName, Dialect>> = {
  claude,
  codex: claude,
  git,
  cursor,
  copilot,
  gemini,
  opencode: claude,
}

const line = (value: object): string => `${JSON.stringify(value)}\n`
