import type { ChildExit, CommandContext } from '../context.ts'
import { findWorkspace } from '../../lease/index.ts'
import { shellWord } from '../../base/text/escape.ts'
import { errorCode, errorMessage } from '../../base/errors/stint-error.ts'
import type { Visit, VisitOptions } from '../../session/index.ts'
import { registerEnvironmentSecrets } from '../../secrets/index.ts'
import { openStore } from '../../cli/store.ts'

/** How the program ended. */
type RunEnd = ChildExit | { error: unknown }

/**
 * Records a run in its session, in the audit log and the journal: the command line before the program starts,
 * and the exit after it has ended. If the command line cannot be recorded, the program is not started. Both
 * records are visits, so the session is free while the program runs.
 */
export async function recordRun(
  context: CommandContext,
  sessionId: string,
  command: readonly string[],
  where?: string,
): Promise<Recording> {
  const onWarning = (message: string): void => context.warn(message)
  const store = await openStore(where, onWarning)
  const subject = command.map(shellWord).join(' ')
  const options: VisitOptions = {
    purpose: 'record a run',
    secrets: registerEnvironmentSecrets().secrets,
    create: { tool: 'stint run', title: subject, workspace: findWorkspace().path, mask: 'tokens' },
    mask: 'tokens',
    onWarning,
  }
  // The teardown of this run may have begun meanwhile; it would not see an intent that is written now.
  context.signal.throwIfAborted()
  const recording = new Recording(context, (write) => store.visit(sessionId, write, options))
  await recording.begin(command, subject)
  return recording
}

/** The records of one run. */
class Recording {
  readonly #context: CommandContext
  readonly #visit: (write: (visit: Visit) => Promise<void>) => Promise<void>
  readonly #startedAt = Date.now()
  #stopReason: unknown = 'the run was stopped'
  #finished: Promise<void> | undefined

  constructor(context: CommandContext, visit: (write: (visit: Visit) => Promise<void>) => Promise<void>) {
    this.#context = context
    this.#visit = visit
  }

  async begin(command: readonly string[], subject: string): Promise<void> {
    const { requestId } = this.#context
    const started = this.#visit(async (visit) => {
      await visit.audit({ action: 'run', subject, phase: 'intent', act: requestId })
      await visit.append({ type: 'run.start', data: { request_id: requestId, command, cwd: process.cwd() } })
    })
    // A signal, the timeout, a budget or a lost lease may end the run before its start was recorded.
    this.#context.onCleanup(async () => {
      const isRecorded = await started.then(
        () => true,
        () => false,
      )
      if (isRecorded) await this.finish({ error: this.#stopReason })
    })
    await started
  }

  /** Says why the program is about to be ended; its end is recorded when it has come. */
  stoppedBy(reason: unknown): void {
    this.#stopReason = reason
  }

  /** Records the end, once. The program has run: a failure to record that does not change how it ended. */
  finish(end: RunEnd): Promise<void> {
    // A run that a signal or the timeout stops may see its program's end before its own teardown.
    const { aborted, reason } = this.#context.signal
    this.#finished ??= this.#record(aborted ? { error: reason as unknown } : end).catch((error: unknown) =>
      this.#context.warn(`the end of the run could not be recorded: ${errorMessage(error)}`),
    )
    return this.#finished
  }

  #record(end: RunEnd): Promise<void> {
    const act = this.#context.requestId
    const facts = { ...factsOf(end), duration_ms: Date.now() - this.#startedAt }
    return this.#visit(async (visit) => {
      await visit.append({ type: 'run.end', data: { request_id: act, ...facts } })
      const ok = 'code' in end && end.code === 0
      await visit.audit({ action: 'run', phase: 'outcome', act, ok, detail: facts })
    })
  }
}

function factsOf(end: RunEnd): object {
  if ('error' in end) return { error: { code: errorCode(end.error), message: errorMessage(end.error) } }
  return { exit_code: end.code, signal: end.signal }
}
