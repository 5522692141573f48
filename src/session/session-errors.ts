import { hostname } from 'node:os'
import { StintError } from '../base/errors/stint-error.ts'
import { type Identity } from '../base/process/liveness.ts'
import { thisMachine } from '../base/process/platform.ts'
import { formatDuration } from '../base/text/duration.ts'
import { visibleText } from '../base/text/escape.ts'
import { isSessionId } from '../base/text/id.ts'
import type { LogName } from './log/codec.ts'
import type { Health, Holder, LogHealth } from './store.ts'

/** `SESSION_ID_INVALID` unless this can be a session id. An id from outside may become a part of a path. */
export function checkSessionId(id: unknown): asserts id is string {
  if (isSessionId(id)) return
  const shown = JSON.stringify(String(id).slice(0, 60))
  throw new StintError('SESSION_ID_INVALID', `${shown} is not a session id`)
}

/** `NOT_FOUND`. */
export const sessionNotFound = (id: string, cause?: unknown): StintError =>
  new StintError('NOT_FOUND', `there is no session ${id}`, {
    hint: '`stint sessions list` shows all.',
    cause,
  })

/** `NAME_TAKEN`. */
export const sessionExists = (id: string, cause?: unknown): StintError =>
  new StintError('NAME_TAKEN', `session ${id} exists already`, {
    hint: 'Resume it, or choose another id.',
    cause,
  })

/** `SESSION_CLOSED`. */
export const sessionClosed = (): StintError =>
  new StintError('SESSION_CLOSED', 'the session is closed: nothing more can be written to it')

/** `RESUME_MISMATCH` if a session was written by another kind of store. */
export function assertWrittenBy(expected: string, id: string, store: string): void {
  if (store === expected) return
  throw new StintError('RESUME_MISMATCH', `session ${id} was written by the store ${JSON.stringify(store)}`)
}

/** `SESSION_LOCKED`, naming the holder. `host` is its machine, if that may be another one than this. */
export function sessionLocked(
  id: string,
  holder: (Holder & { host?: string }) | undefined,
  now = Date.now(),
): StintError {
  if (holder === undefined) return new StintError('SESSION_LOCKED', `session ${id} is in use`)
  const { process: owner, host, purpose } = holder
  const since = new Date(holder.since).toISOString()
  const age = formatDuration(Math.max(0, Math.round(now - holder.since)))
  const where = host === undefined ? '' : ` on ${visibleText(host)}`
  const doing = purpose === undefined ? '' : ` (${visibleText(purpose)})`
  return new StintError(
    'SESSION_LOCKED',
    `session ${id} is held by pid ${owner.pid}${where}${doing} for ${age}`,
    {
      detail: `session=${id} pid=${owner.pid}${host === undefined ? '' : ` host=${visibleText(host)}`} since=${since}`,
      facts: {
        holder: { pid: owner.pid, host: host ?? localHostName(owner), since, purpose, kind: holder.kind },
      },
    },
  )
}

/** How the holder that a `SESSION_LOCKED` names holds the session; a writer if that is not known. */
export function holderKind(locked: unknown): Holder['kind'] {
  const { holder } = (locked instanceof StintError ? locked.options.facts : undefined) ?? {}
  return (holder as Partial<Holder> | undefined)?.kind ?? 'writer'
}

/** The name of this machine, if the process runs on it: an identity does not contain names. */
function localHostName({ host, pidns }: Identity): string | undefined {
  const here = thisMachine()
  return host === here.host && pidns === here.pidns ? hostname() : undefined
}

/** `JOURNAL_CORRUPT`: a replica has taken over that lacked the last records, or a backup was restored. */
export const lostRecords = (id: string, log: LogName, acknowledged: number, last: number): StintError =>
  new StintError(
    corruptCode[log],
    `the ${spokenName[log]} of ${id} ends at record ${last}, and ${acknowledged} was acknowledged: records are lost`,
    { hint: 'Resume the session to go on from what is there; find out what its store was restored from.' },
  )

/** The error of a copy that is complete, but of no use yet, with the code of its cause. */
export function copyUnusable(id: string, problem: string, cause: unknown): unknown {
  if (!(cause instanceof StintError)) return cause
  return new StintError(cause.code, `session ${id} is made, but ${problem}: ${cause.message}`, {
    ...cause.options,
    cause,
    retryable: false,
  })
}

/** `FENCED`, for a writer whose session was taken over. */
export const sessionFenced = (id: string): StintError =>
  new StintError('FENCED', `session ${id} was taken over by another process: nothing more is written`)

/**
 * The damage that a verification has found, as an error; undefined if the session is intact. A torn tail is
 * not damage: the next resume cuts it off.
 */
export function damageFound(id: string, { journal, audit, blobs }: Health): StintError | undefined {
  return damageInLog(id, 'journal', journal) ?? auditDamage(id, audit) ?? missingBlobs(id, blobs)
}

/** Throws the damage that a verification has found. */
export function assertIntact(id: string, health: Health): void {
  const damage = damageFound(id, health)
  if (damage !== undefined) throw damage
}

/** The damage that a verification has found in the audit log. */
export const auditDamage = (id: string, audit: LogHealth): StintError | undefined =>
  damageInLog(id, 'audit', audit)

function damageInLog(
  id: string,
  log: LogName,
  { state, findings, lastSeq }: LogHealth,
): StintError | undefined {
  if (state !== 'damaged') return undefined
  return logDamaged(id, log, findings.join('; '), { detail: `readable=${lastSeq}` })
}

/** `JOURNAL_CORRUPT` or `AUDIT_CORRUPT`: the log has lost or changed records. `finding` says which. */
export const logDamaged = (
  id: string,
  log: LogName,
  finding: string,
  options: { detail?: string } = {},
): StintError =>
  new StintError(corruptCode[log], `the ${spokenName[log]} of ${id} is damaged: ${finding}`, options)

/** `JOURNAL_CORRUPT` or `AUDIT_CORRUPT`: a fork needs records of the log that are missing or changed. */
export const logUnreadable = (id: string, log: LogName, seq: number): StintError =>
  new StintError(corruptCode[log], `the ${spokenName[log]} of ${id} cannot be read up to record ${seq}`, {
    hint: 'Fork it at an earlier record; `stint sessions verify` shows how far it is intact.',
  })

const corruptCode = { journal: 'JOURNAL_CORRUPT', audit: 'AUDIT_CORRUPT' } as const
const spokenName = { journal: 'journal', audit: 'audit log' } as const

function missingBlobs(id: string, blobs: readonly string[]): StintError | undefined {
  const [first] = blobs
  if (first === undefined) return undefined
  const more = blobs.length > 1 ? ` and ${blobs.length - 1} more` : ''
  return new StintError('BLOB_MISSING', `blob ${first}${more} of ${id} is missing or changed`, {
    detail: `blobs=${blobs.length}`,
  })
}
