import { createHash } from 'node:crypto'
import { StintError } from '../base/errors/stint-error.ts'
import { isRecord } from '../base/text/fields.ts'
import type { SecretGate } from '../secrets/index.ts'
import { checkSessionId } from './session-errors.ts'
import type { CreateOptions, SessionName } from './store.ts'

const maxKeyBytes = 4096
const maxLabels = 32
const maxLabelLength = 256

/** The id of the session with this name. A name may come from outside: `SESSION_ID_INVALID`, `ARG_ERROR`. */
export function sessionIdOf(name: SessionName): string {
  if (isRecord(name)) return keyId(name.key)
  checkSessionId(name)
  return name
}

/** Options that may create the session with this name, with its key. */
export const withKey = <Options extends { create?: object }>(name: SessionName, options: Options): Options =>
  isRecord(name) && options.create !== undefined
    ? { ...options, create: { ...options.create, key: name.key } }
    : options

/** The id of the session with a key: a hash, as a key may be longer than a file name, and confidential. */
export function keyId(key: unknown): string {
  if (typeof key !== 'string' || key === '' || Buffer.byteLength(key) > maxKeyBytes)
    throw new StintError('ARG_ERROR', `the key of a session is a string of 1 to ${maxKeyBytes} bytes`)
  const bytes = Buffer.from(key)
  // The two halves of different pairs would have the same bytes.
  if (bytes.toString() !== key)
    throw new StintError('ARG_ERROR', 'the key of a session has half of a surrogate pair')
  return `key_${createHash('sha256').update(bytes).digest('hex')}`
}

/** A session is found by its id or key, so nothing in it can be replaced. */
export function assertNameHasNoSecret(names: { id?: string; key?: string }, gate: SecretGate): void {
  for (const [what, name] of Object.entries(names)) {
    if (name !== undefined && gate.text(name) !== name)
      throw new StintError('ARG_ERROR', `the ${what} of a session contains a secret`, {
        hint: `Choose another ${what}: it is stored as it is, and shown to others.`,
      })
  }
}

/** The name and the labels of a new session, as its manifest has them: free of secrets. */
export function namesOf(
  { id, key, labels = {} }: Pick<CreateOptions, 'id' | 'key' | 'labels'>,
  gate: SecretGate,
): { key?: string; labels?: Record<string, string> } {
  if (key !== undefined && id !== keyId(key))
    throw new StintError('ARG_ERROR', 'a session has an id or a key: its key decides its id')
  assertNameHasNoSecret({ key, id }, gate)
  const named = isRecord(labels) ? Object.entries(labels) : undefined
  const isLabel = (text: unknown): boolean => typeof text === 'string' && text.length <= maxLabelLength
  if (named === undefined || named.length > maxLabels || !named.flat().every(isLabel))
    throw new StintError(
      'ARG_ERROR',
      `the labels of a session are up to ${maxLabels} strings by name, each of up to ${maxLabelLength} characters`,
    )
  return {
    ...(key !== undefined && { key }),
    ...(named.length > 0 && { labels: JSON.parse(gate.stringify(labels)) as Record<string, string> }),
  }
}
