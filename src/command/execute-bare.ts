import { after } from '../base/process/clock.ts'
import { columnsOf, writeOut } from '../base/process/terminal.ts'
import type { BareContext } from './context.ts'
import type { Command } from './define-command.ts'
import { type Interruptions, StopSignal } from './interruption.ts'
import type { Invocation } from './invocation.ts'
import { outcomeOf, type Reply } from './reply.ts'
import { screenOf } from './stdio.ts'

/** Runs a bare command, which has no scratch and no children to end. Returns its exit code. */
export async function executeBare(
  command: Command,
  invocation: Invocation,
  reply: Reply,
  interruptions: Interruptions,
): Promise<number> {
  const interruption = interruptions.follow({
    onSecondInterrupt: (error) => process.exit(reply.give({ error })),
    onLaterError: (error) => reply.warn(error.message),
  })
  const stop = new StopSignal()
  const context: BareContext = {
    requestId: reply.meta.request_id,
    get signal() {
      return stop.signal
    },
    json: invocation.stream ? invocation.json : reply.json,
    get screen() {
      return screenOf(1, reply.verbose)
    },
    quiet: reply.quiet,
    ...reply.printers,
  }
  const handler = outcomeOf(() => command.run(context as never, invocation.args as never))
  const first = await Promise.race([handler, interruption])
  if ('signal' in first) {
    reply.meta.partial = true
    stop.stop(first.error)
    // A stream ends when its user stops it: that is not an error worth a message.
    if (invocation.stream && first.error.code === 'CANCELLED') {
      // The terminal has printed ^C: the prompt of the shell shall begin on the next line.
      if (first.signal === 'SIGINT' && columnsOf(2) !== undefined) writeOut(2, '\n')
      return first.error.exit
    }
    // The handler may have to undo what it has half done.
    if (stop.wasRead) await Promise.race([handler, after(invocation.graceMs)])
    return reply.give({ error: first.error })
  }
  const { args, stream } = invocation
  // A stream has printed its answer already.
  return reply.give(first, (data) =>
    stream ? undefined : command.render?.(data as never, context.screen, args as never),
  )
}
