import { errorMessage, StintError } from '../base/errors/stint-error.ts'
import { exactJson } from '../base/text/exact-json.ts'
import { isRecord } from '../base/text/fields.ts'
import { type KnownSecret, resolveSecret, SecretGate, type SecretRef } from '../secrets/index.ts'
import { ownPrefix } from './state.ts'
import { checkStrings } from './create-manifest.ts'
import type { LogEntry } from './log/record.ts'
import { type Facts, factsOf } from './manifest.ts'
import type { Medium, SessionHold } from './medium.ts'
import type { AuditRecord, Mask, NewAudit, NewEvent } from './store.ts'

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

/** What JSON keeps of the data; `ARG_ERROR` for a cycle, a BigInt, or too much data. */
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
  { type: rawType, slot, masked }: Omit<LogEntry, 'json'>,
  rawJson: string,
  gate: SecretGate,
): LogEntry {
  const json = gate.json(rawJson)
  const type = gate.text(rawType)
  const isMasked = masked || json !== rawJson || type !== rawType
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
  return entryOf({ type: phase ?? 'note', masked }, jsonOf(fields), gate)
}

function checkName(what: string, name: unknown): asserts name is string {
  if (typeof name === 'string' && name !== '' && name.length <= maxNameLength) return
  const shown = typeof name === 'string' ? `one of ${name.length} characters` : typeof name
  throw new StintError(
    'ARG_ERROR',
    `the ${what} must be a string of 1 to ${maxNameLength} characters, not ${shown}`,
  )
}

/** Gives the values of secrets to the program, and keeps them off the disk. */
export interface SessionSecrets {
  /**
   * The value of a secret. From now on it is written as `<secret:env:NAME>` wherever it turns up.
   *
   * @example
   * const key = session.secrets.resolve({ kind: 'env', name: 'API_KEY' })
   */
  resolve(ref: SecretRef): string
}

/** `purpose` is written at every heartbeat. */
const maxPurposeLength = 500

/** The secrets that a session or visit knows, and the gate that everything passes before it is written. */
export class RegisteredSecrets implements SessionSecrets {
  readonly gate = new SecretGate()
  readonly #leastMask: Mask

  /** `leastMask`: `tokens` masks tokens even if the session does not. */
  constructor(leastMask: Mask = 'registered') {
    this.#leastMask = leastMask
  }

  /** Throws if finished bytes contain a secret: the second defence, after the gate has replaced them. */
  readonly check = (bytes: Uint8Array): void => this.gate.assertClean(bytes, 'a record of the session')

  resolve(ref: SecretRef): string {
    const value = resolveSecret(ref, process.env)
    this.gate.register(ref, value)
    return value
  }

  /** Registers the secrets of a session that are set here, and masks what the session has chosen. */
  apply({ secrets, mask }: Pick<Facts, 'secrets' | 'mask'>): void {
    for (const ref of secrets) ignoreUnfit(() => this.resolve(ref))
    this.gate.masksTokens = mask === 'tokens' || this.#leastMask === 'tokens'
  }

  /** Registers values that the caller has resolved already. */
  registerAll(secrets: readonly KnownSecret[]): void {
    for (const { ref, value } of secrets) ignoreUnfit(() => this.gate.register(ref, value))
  }

  /** Applies what the manifest of a session says. `NOT_FOUND`. */
  async applyThoseOf(medium: Medium, id: string): Promise<void> {
    this.apply(factsOf((await medium.read(id)).manifest))
  }

  /** Why a session is taken, in a form that may be shown. */
  holdFor(kind: SessionHold['kind'], purpose: string | undefined): SessionHold {
    checkStrings({ purpose })
    return { kind, purpose: purpose && this.gate.text(purpose).slice(0, maxPurposeLength) }
  }
}

/** Skips a secret that is not set here, or that is too short to search for. */
function ignoreUnfit(register: () => void): void {
  try {
    register()
  } catch (error) {
    if (!(error instanceof StintError)) throw error
  }
}
