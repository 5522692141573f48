import type { Answer } from './answer.ts'
import type { BareContext } from './context.ts'
import { settle } from './envelope.ts'
import type { Interruptions } from './interruption.ts'
import type { Invocation } from './runtime-flags.ts'
import type { Command } from './spec.ts'

/** One run of a command that has nothing to tear down. */
export async function executeBare(
  command: Command,
  invocation: Invocation,
  answer: Answer,
  interruptions: Interruptions,
): Promise<number> {
  const stop = new AbortController()
  const interruption = interruptions.follow({
    timeoutMs: invocation.timeoutMs,
    onImpatient: (error) => process.exit(answer.give({ error })),
    onLater: (error) => answer.warn(error.message),
  })
  const context: BareContext = {
    requestId: answer.meta.request_id,
    signal: stop.signal,
    deadline: invocation.timeoutMs === undefined ? undefined : Date.now() + invocation.timeoutMs,
    json: command.stream ? invocation.json : answer.json,
    warn: (message) => answer.warn(message),
  }
  const first = await Promise.race([
    settle(() => command.run(context as never, invocation.args as never)),
    interruption,
  ])
  if ('signal' in first) {
    answer.meta.partial = true
    stop.abort(first.error)
    // To stop it is how a stream ends: nothing to say about it.
    if (command.stream && first.error.code === 'CANCELLED') return first.error.exit
    return answer.give({ error: first.error })
  }
  return answer.give(first, 'error' in first ? undefined : command.render?.(first.data as never))
}
