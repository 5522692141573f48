import { after } from '../base/process/clock.ts'
import type { Reply } from './reply.ts'
import type { BareContext } from './context.ts'
import { settle } from './envelope.ts'
import type { Interruptions } from './interruption.ts'
import type { Invocation } from './runtime-flags.ts'
import type { Command } from './define-command.ts'
import { StopSignal } from './stop-signal.ts'

/** One run of a command that has nothing to tear down. */
export async function executeBare(
  command: Command,
  invocation: Invocation,
  answer: Reply,
  interruptions: Interruptions,
): Promise<number> {
  const interruption = interruptions.follow({
    timeoutMs: invocation.timeoutMs,
    onImpatient: (error) => process.exit(answer.give({ error })),
    onLater: (error) => answer.warn(error.message),
  })
  const stop = new StopSignal()
  const context: BareContext = {
    requestId: answer.meta.request_id,
    get signal() {
      return stop.signal
    },
    deadline: invocation.timeoutMs === undefined ? undefined : Date.now() + invocation.timeoutMs,
    json: invocation.stream ? invocation.json : answer.json,
    quiet: answer.quiet,
    ...answer.voice,
  }
  const handler = settle(() => command.run(context as never, invocation.args as never))
  const first = await Promise.race([handler, interruption])
  if ('signal' in first) {
    answer.meta.partial = true
    stop.stop(first.error)
    // To stop it is how a stream ends: nothing to say about it.
    if (invocation.stream && first.error.code === 'CANCELLED') return first.error.exit
    // What it is in the middle of, it may have to take back.
    if (stop.isHeard) await Promise.race([handler, after(invocation.graceMs)])
    return answer.give({ error: first.error })
  }
  return answer.give(first, 'error' in first ? undefined : command.render?.(first.data as never))
}
