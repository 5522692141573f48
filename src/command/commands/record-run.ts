import type { ChildExit, CommandContext } from '../context.ts'
import { findWorkspace } from '../../lease/index.ts'
import { shellWord } from '../../base/text/escape.ts'
import { errorCode, errorMessage } from '../../base/errors/stint-error.ts'
import type { VisitOptions } from '../../session/index.ts'
import { registerEnvironmentSecrets } from '../../secrets/index.ts'
import { openStore } from '../../cli/store.ts'

/** How the program ended. */
type RunEnd = ChildExit | { error: unknown }

export interface Recording {
  finish(end: RunEnd): Promise<void>
  /** Says why the program is about to be ended; its end is recorded when it has come. */
  stoppedBy(reason: unknown): void
}

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
  const { requestId } = context
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
  const startedAt = Date.now()
  const started = store.visit(
    sessionId,
    async (visit) => {
      await visit.audit({ action: 'run', subject, phase: 'intent', act: requestId })
      await visit.append({ type: 'run.start', data: { request_id: requestId, command, cwd: process.cwd() } })
    },
    options,
  )
  const record = (end: RunEnd): Promise<void> =>
    store.visit(
      sessionId,
      async (visit) => {
        const facts = { ...factsOf(end), duration_ms: Date.now() - startedAt }
        const ok = 'code' in end && end.code === 0
        await visit.append({ type: 'run.end', data: { request_id: requestId, ...facts } })
        await visit.audit({ action: 'run', phase: 'outcome', act: requestId, ok, detail: facts })
      },
      options,
    )
  let finished: Promise<void> | undefined
  const finish = (end: RunEnd): Promise<void> => {
    // A run that a signal or the timeout stops may see its program's end before its own teardown.
    const { aborted, reason } = context.signal
    // The program has run: whether that could be recorded does not change how it ended.
    finished ??= record(aborted ? { error: reason as unknown } : end).catch((error: unknown) =>
      context.warn(`the end of the run could not be recorded: ${errorMessage(error)}`),
    )
    return finished
  }
  let stopReason: unknown = 'the run was stopped'
  // A signal, the timeout, a budget or a lost lease has ended the run, maybe before its start was recorded.
  context.onCleanup(async () => {
    const isRecorded = await started.then(
      () => true,
      () => false,
    )
    if (isRecorded) await finish({ error: stopReason })
  })
  await started
  return { finish, stoppedBy: (reason) => (stopReason = reason) }
}

function factsOf(end: RunEnd): object {
  if ('error' in end) return { error: { code: errorCode(end.error), message: errorMessage(end.error) } }
  return { exit_code: end.code, signal: end.signal }
}
