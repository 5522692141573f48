import type { AuditRecord } from './audit-record.ts'
import { errorMessage, StintError } from '../base/errors/stint-error.ts'
import { exactJson } from '../base/text/exact-json.ts'
import { isRecord } from '../base/text/fields.ts'
import type { SecretGate } from '../secrets/index.ts'
import type { LogEntry } from './log/record.ts'
import { ownPrefix } from './state.ts'
import type { NewAudit, NewEvent } from './store.ts'

const maxNameLength = 200

/** Makes the journal entry of an event: checked, and without secrets. */
export function makeEventEntry(event: NewEvent, gate: SecretGate): LogEntry {
  checkEvent(event)
  const { type, data, masked } = event
  checkEventType(type)
  return makeExactEntry({ type, data, masked }, gate)
}

/** Makes an entry whose data reads back as it was, without secrets; `ARG_ERROR` if JSON would change it. */
export function makeExactEntry(
  entry: Omit<LogEntry, 'json'> & { data: unknown },
  gate: SecretGate,
): LogEntry {
  const { data, slot } = entry
  // An event may have no data; the value of a slot would read back as null.
  const isLeftOut = data === undefined && slot === undefined
  return entryOf(entry, isLeftOut ? 'null' : exactJson(data, slot === undefined ? 'data' : 'value'), gate)
}

/** `ARG_ERROR` unless an event is an object. */
export const checkEvent = (event: unknown): void =>
  checkObject(event, 'an event must be an object with a `type`')

/** `ARG_ERROR` with this message unless the value is an object: JavaScript callers are not type-checked. */
export function checkObject(value: unknown, message: string): void {
  if (!isRecord(value)) throw new StintError('ARG_ERROR', message)
}

/** Makes an entry of what JSON keeps of the data; `ARG_ERROR` for a cycle, a BigInt, or too much data. */
export function makeEntry(entry: Omit<LogEntry, 'json'> & { data: unknown }, gate: SecretGate): LogEntry {
  return entryOf(entry, jsonOf(entry.data), gate)
}

function jsonOf(data: unknown): string {
  try {
    return JSON.stringify(data) ?? 'null'
  } catch (cause) {
    throw new StintError('ARG_ERROR', `it cannot be written as JSON: ${errorMessage(cause)}`, { cause })
  }
}

/**
 * The entry with this JSON, without secrets. It says if something in it was replaced, here or earlier. Its
 * properties are written out: spreading them would cost as much as encoding them.
 */
function entryOf(
  { type: given, slot, masked }: Omit<LogEntry, 'json'>,
  raw: string,
  gate: SecretGate,
): LogEntry {
  const json = gate.json(raw)
  const type = gate.text(given)
  const isMasked = masked || json !== raw || type !== given
  return { type, json, slot, masked: isMasked || undefined }
}

/** `ARG_ERROR` unless an event can have this type. */
export function checkEventType(type: unknown): asserts type is string {
  checkName('type of an event', type)
  if (type.startsWith(ownPrefix))
    throw new StintError(
      'ARG_ERROR',
      `types that begin with ${ownPrefix} are reserved: ${JSON.stringify(type)}`,
    )
}

/** The fields of an audit line. An outcome also has the result of the act, or its error. */
export interface AuditFields extends NewAudit {
  result?: unknown
  error?: AuditRecord['error']
}

/** Makes the entry of an audit line: checked, and without secrets. */
export function makeAuditEntry(line: AuditFields, gate: SecretGate): LogEntry {
  checkObject(line, 'an audit line must be an object with an `action`')
  const { phase, masked, ...fields } = line
  checkName('action', fields.action)
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
  return makeEntry({ type: phase ?? 'note', data: fields, masked }, gate)
}

function checkName(what: string, name: unknown): asserts name is string {
  if (typeof name === 'string' && name !== '' && name.length <= maxNameLength) return
  const shown = typeof name === 'string' ? `one of ${name.length} characters` : typeof name
  throw new StintError(
    'ARG_ERROR',
    `the ${what} must be a string of 1 to ${maxNameLength} characters, not ${shown}`,
  )
}
