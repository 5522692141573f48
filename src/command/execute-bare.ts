import { timerMs } from '../primitives/duration.ts'
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
  const interruption = interruptions.follow({
    timeoutMs: invocation.timeoutMs,
    onImpatient: (error) => process.exit(answer.give({ error })),
    onLater: (error) => answer.warn(error.message),
  })
  // As in a run: whoever never asks for it cannot listen, and need not be waited for.
  let stop: AbortController | undefined
  const context: BareContext = {
    requestId: answer.meta.request_id,
    get signal() {
      stop ??= new AbortController()
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
    stop?.abort(first.error)
    // To stop it is how a stream ends: nothing to say about it.
    if (invocation.stream && first.error.code === 'CANCELLED') return first.error.exit
    // What it is in the middle of, it may have to take back.
    if (stop !== undefined) await Promise.race([handler, after(invocation.graceMs)])
    return answer.give({ error: first.error })
  }
  return answer.give(first, 'error' in first ? undefined : command.render?.(first.data as never))
}

const after = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, timerMs(ms)))
