import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { stintHome } from '../../primitives/home.ts'
import type { HookEvent } from '../event.ts'
import { sessionName } from '../session-name.ts'
import type { Verdict } from '../verdict.ts'
import { cleaned, gateOf } from './clean.ts'
import { type Entries, entriesOf } from './entries.ts'
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
 * Records a tool call: what it is about to do is on disk when this returns. It gets into the session's journal and audit by a recorder, which is started at
 * the end of a turn, or when much waits, and which nobody waits for.
 */
export function record({ event, verdict, json, agent, env }: RecordRequest): void {
  const home = stintHome(env)
  const entries = entriesOf(event, verdict, json, new Date())
  if (entries !== undefined) {
    const waiting = {
      ...(cleaned(entries, gateOf(env)) as Entries),
      session: sessionName(event.sessionId, event.host, agent),
      tool: event.host,
      workspace: event.cwd,
    }
    enqueue(home, waiting, event.kind === 'pre')
  }
  if (event.kind === 'pre') return
  const many = waitingIn(home).length
  if (many > (event.kind === 'post' ? maxWaiting : 0)) startRecorder(env)
}

/** In a session of its own: it lives on when the hook, its shell or its terminal ends. */
function startRecorder(env: NodeJS.ProcessEnv): void {
  const recorder = join(__dirname, 'hook-recorder.cjs')
  // Of the many certificates that Node would read first, it needs none.
  const options = {
    detached: true,
    stdio: 'ignore' as const,
    env: { ...env, NODE_EXTRA_CA_CERTS: undefined },
  }
  spawn(process.execPath, [recorder], options).unref()
}
