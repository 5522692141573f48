import { stintHome } from '../../base/fs/home.ts'
import type { HookEvent } from '../event.ts'
import { sessionName } from '../session-party.ts'
import type { Verdict } from '../verdict.ts'
import { cleaned, cleaningFor } from './clean.ts'
import { callRecords } from './entries.ts'
import { enqueue, queuedFiles } from './queue.ts'

/** The number of calls that may wait in the middle of a turn. */
const maxQueued = 64

export interface RecordRequest {
  event: HookEvent
  verdict: Verdict
  agent: Parameters<typeof sessionName>[2]
  env: NodeJS.ProcessEnv
}

/**
 * Queues a tool call; one that is about to run is on disk when this returns. True if a recorder should write
 * the queue into the sessions now: at the end of a turn, or when the queue is long.
 */
export function recordCall({ event, verdict, agent, env }: RecordRequest): boolean {
  const home = stintHome(env)
  if (event.tool !== undefined && event.tool.use !== 'none') {
    const cleaning = cleaningFor(env)
    // Clean the input first: a call without an id is named by its hash, which allows guessing secrets.
    const input = cleaned(event.tool.input, cleaning)
    const tool = { ...event.tool, input: input.value }
    const records = callRecords({ ...event, tool }, verdict, new Date())
    if (records !== undefined) {
      const call = cleaned({ tool: event.host, workspace: event.cwd, ...records }, cleaning)
      const session = sessionName(event.sessionId, event.host, agent)
      const masked = input.masked || call.masked
      enqueue(home, { ...call.value, session, masked }, event.kind === 'pre')
    }
  }
  if (event.kind === 'pre') return false
  return queuedFiles(home).length > (event.kind === 'post' ? maxQueued : 0)
}
