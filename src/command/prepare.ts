import { isSessionId } from '../base/text/id.ts'
import { StintError } from '../base/errors/stint-error.ts'
import { createScratch, type Scratch, scratchVariables } from '../scratch/index.ts'
import type { Reply } from './reply.ts'
import { type Guard, startGuard } from './guard.ts'
import type { Invocation } from './runtime-flags.ts'
import type { Command, RunSettings } from './define-command.ts'

/** What a run is set up with, checked before anything is made. */
export function readSettings(command: Command, { args }: Invocation): RunSettings {
  const settings = command.settings?.(args as never) ?? {}
  const sessionId = settings.sessionId ?? (process.env.STINT_SESSION_ID || undefined)
  if (sessionId !== undefined && !isSessionId(sessionId)) {
    throw new StintError(
      'SESSION_ID_INVALID',
      `${JSON.stringify(sessionId.slice(0, 140))} cannot be a session id`,
    )
  }
  return { ...settings, sessionId }
}

export function makeScratch(command: Command, settings: RunSettings, answer: Reply): Scratch {
  const scratch = createScratch({
    requestId: answer.meta.request_id,
    sessionId: settings.sessionId,
    parentRequestId: process.env.STINT_REQUEST_ID,
    command: settings.program ?? command.name,
    keep: settings.keep,
  })
  answer.meta.session_tmp_dir = scratch.path
  answer.note(`scratch ${scratch.path}`)
  if (settings.sessionId !== undefined) answer.meta.session_id = settings.sessionId
  return scratch
}

/**
 * Into our own environment: what this process and all its children take for the temp directory is the scratch.
 * Returns the mark by which any of them can be found again.
 */
export function exportEnvironment(scratch: Scratch, { sessionId }: RunSettings): string {
  Object.assign(process.env, {
    ...scratchVariables(scratch),
    ...(sessionId === undefined ? {} : { STINT_SESSION_ID: sessionId }),
  })
  return `STINT_REQUEST_ID=${scratch.requestId}`
}

export function armGuard(
  scratch: Scratch,
  mark: string,
  settings: RunSettings,
  answer: Reply,
): Guard | undefined {
  if (settings.guard === false) return undefined
  const guard = startGuard(scratch, mark, () =>
    answer.warn('no guard: /bin/sh cannot be started; if this run is killed, the next sweep cleans up'),
  )
  // Being killed is a failure: what is kept on failure is kept then, too.
  if (settings.keep !== undefined && settings.keep !== 'never') guard?.keepScratch()
  return guard
}

/** In JSON mode stdout carries the envelope and nothing else: what a handler prints goes to stderr. */
export function reserveStdout(): void {
  // Whoever has taken the stream before us (a logger at import, console at its first line) holds this very object.
  process.stdout.write = process.stderr.write.bind(process.stderr)
  Object.defineProperty(process, 'stdout', { configurable: true, get: () => process.stderr })
}
