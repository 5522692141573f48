import { stintHome } from '../../base/fs/home.ts'
import type { HookEvent } from '../event.ts'
import { sessionName } from '../handle-event.ts'
import type { Verdict } from '../verdict.ts'
import { cleaned, cleaningFor } from './clean.ts'
import { entriesOf } from './entries.ts'
import { enqueue, waitingIn } from './queue.ts'

/** How many may wait in the middle of a turn. */
const maxWaiting = 64

export interface RecordRequest {
  event: HookEvent
  verdict: Verdict
  /** As the host sent it. */
  json: Readonly<Record<string, unknown>>
  agent: Parameters<typeof sessionName>[2]
  env: NodeJS.ProcessEnv
}

/**
 * Puts a tool call on record: what it is about to do is on disk when this returns. True if somebody should
 * now write what has gathered into the sessions: at the end of a turn, or when much waits.
 */
export function recordCall({ event, verdict, json, agent, env }: RecordRequest): boolean {
  const home = stintHome(env)
  if (event.tool !== undefined && event.tool.use !== 'none') {
    const cleaning = cleaningFor(env)
    // First of all: a call without an id is named by a hash of its input, and whoever has that can try out
    // secrets.
    const tool = { ...event.tool, input: cleaned(event.tool.input, cleaning) }
    const entries = entriesOf({ ...event, tool }, verdict, json, new Date())
    const session = sessionName(event.sessionId, event.host, agent)
    const waiting = entries && cleaned({ tool: event.host, workspace: event.cwd, ...entries }, cleaning)
    if (waiting !== undefined) enqueue(home, { ...waiting, session }, event.kind === 'pre')
  }
  if (event.kind === 'pre') return false
  return waitingIn(home).length > (event.kind === 'post' ? maxWaiting : 0)
}
