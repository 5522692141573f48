import { statSync } from 'node:fs'
import { ifPossible } from '../base/errors/if-possible.ts'
import { readOrigin } from '../base/process/origin.ts'
import { readCommandLine } from '../base/process/platform.ts'
import { type ClaimOrigin, readPrompt, windowsOf } from '../lease/index.ts'
import type { HookEvent } from './event.ts'
import type { Party } from './event-party.ts'
import { hosts } from './hosts.ts'
import type { HookChoices } from './options.ts'

/** Where the session works, on what, and where the evidence about its claims is. */
export function originOf(
  event: HookEvent,
  party: Party,
  { prompts }: Pick<HookChoices, 'prompts'>,
  env: NodeJS.ProcessEnv,
): ClaimOrigin {
  const { host, cwd, sessionId } = event
  const { title, sessionVariable, sharesProcess } = hosts[host]
  const { agent, parent } = party
  const { terminal, tmux_pane: pane, ...place } = readOrigin(agent?.pid ?? process.pid, env, cwd)
  const prompt = prompts === false ? undefined : readPrompt(parent ?? party.sessionId, env)
  const transcript = transcriptNow(event, party, env)
  return {
    agent: title,
    ...place,
    // The app-server of Codex has the terminal of the window that started it, whichever window this is.
    ...(!isServer(party) && { ...(terminal && { terminal }), ...(pane && { tmux_pane: pane }) }),
    ...(prompt && { prompt }),
    ...(transcript && { transcript }),
    ...(sessionVariable && sessionId && { variable: `${sessionVariable}=${parent ?? party.sessionId}` }),
    ...(sharesProcess && { shared_process: true }),
  }
}

const isServer = ({ agent }: Party): boolean =>
  agent !== null && readCommandLine(agent.pid).includes('app-server')

/**
 * The transcript in which the host notes interruptions, and its size now. Two windows of one session share
 * the file, and a subagent has another: there an interruption says nothing about this party.
 */
export function transcriptNow(
  { host, transcript: path }: HookEvent,
  { sessionId, agent, parent }: Party,
  env: NodeJS.ProcessEnv,
): ClaimOrigin['transcript'] {
  if (!hosts[host].notesInterruptions || path === undefined || parent !== undefined) return undefined
  if (windowsOf(sessionId, agent, env).length > 1) return undefined
  return { path, size: ifPossible(() => statSync(path).size) ?? 0 }
}
