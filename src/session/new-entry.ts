import type { AuditRecord } from './audit-record.ts'
import { StintError } from '../base/errors/stint-error.ts'
import type { SecretGate } from '../secrets/index.ts'
import type { LogEntry } from './driver.ts'
import { ownPrefix } from './state.ts'
import type { NewAudit, NewEvent } from './store.ts'

const maxWordLength = 200

/** An event on its way to the journal, without secrets. */
export function eventEntry({ type, data }: NewEvent, gate: SecretGate): LogEntry {
  checkEventType(type)
  return { type: gate.text(type), json: gate.stringify(data) }
}

/** `ARG_ERROR` if no event can have it. */
export function checkEventType(type: unknown): asserts type is string {
  checkWord('type of an event', type)
  if (type.startsWith(ownPrefix))
    throw new StintError(
      'ARG_ERROR',
      `types that begin with ${ownPrefix} are stint's own: ${JSON.stringify(type)}`,
    )
}

/** What a line of the audit log says. An outcome also says what the act returned, or why it failed. */
export interface AuditFields extends NewAudit {
  result?: unknown
  error?: AuditRecord['error']
}

/** A line on its way to the audit log, without secrets. */
export function auditEntry({ phase, ...fields }: AuditFields, gate: SecretGate): LogEntry {
  checkWord('action', fields.action)
  for (const name of ['subject', 'key', 'act'] as const) {
    const value = fields[name]
    if (value !== undefined && typeof value !== 'string')
      throw new StintError('ARG_ERROR', `the ${name} of an audit line must be a string`)
  }
  if (phase !== undefined && phase !== 'intent' && phase !== 'outcome')
    throw new StintError(
      'ARG_ERROR',
      `the phase of an audit line is intent or outcome, not ${JSON.stringify(phase)}`,
    )
  return { type: phase ?? 'note', json: gate.stringify(fields) }
}

function checkWord(what: string, word: unknown): asserts word is string {
  if (typeof word === 'string' && word !== '' && word.length <= maxWordLength) return
  const shown = typeof word === 'string' ? `one of ${word.length} characters` : typeof word
  throw new StintError(
    'ARG_ERROR',
    `the ${what} must be a string of 1 to ${maxWordLength} characters, not ${shown}`,
  )
}
