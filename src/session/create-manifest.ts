import { createHash } from 'node:crypto'
import { hostname } from 'node:os'
import { StintError } from '../base/errors/stint-error.ts'
import { isRecord } from '../base/text/fields.ts'
import { newSessionId } from '../base/text/id.ts'
import { checkSecretRef, type SecretGate } from '../secrets/index.ts'
import { factsOf, type Manifest, newManifest, revised } from './manifest.ts'
import { checkSessionId } from './session-errors.ts'
import type { RegisteredSecrets } from './entries.ts'
import type { CreateOptions, ForkOptions, SessionName } from './store.ts'

/** The manifest of a new session, without the values of secrets. */
export function createManifest(
  store: string,
  {
    key,
    id = key === undefined ? newSessionId() : keyId(key),
    labels,
    tool,
    title,
    workspace,
    mode,
    secrets: listed = [],
    mask = 'registered',
  }: CreateOptions,
  secrets: RegisteredSecrets,
  now: number,
): Manifest {
  checkSessionId(id)
  if (!Array.isArray(listed)) throw new StintError('ARG_ERROR', 'the secrets of a session must be an array')
  // A caller may pass the value of a secret by mistake: write nothing but well-formed references.
  const refs = listed.map(checkSecretRef)
  if (mask !== 'registered' && mask !== 'tokens')
    throw new StintError('ARG_ERROR', 'the mask of a session is registered or tokens')
  secrets.apply({ secrets: refs, mask })
  const facts = { tool, title, workspace, mode }
  checkStrings(facts)
  const all = { ...facts, secrets: refs.length === 0 ? undefined : refs }
  const clean = JSON.parse(secrets.gate.stringify(all)) as object
  const manifest = { ...newManifest(id, store, now), ...namesOf({ id, key, labels }, secrets.gate) }
  const origin = { kind: 'create', ...clean, mask, pid: process.pid, host: hostname() }
  return checked(revised(manifest, now, origin), secrets)
}

/** The manifest of a fork, with the facts of its original. `forkSession` adds where the fork ends. */
export function forkManifest(
  original: Manifest,
  store: string,
  {
    key,
    id = key === undefined ? newSessionId() : keyId(key),
    title,
    purpose,
    secrets: values = [],
  }: ForkOptions,
  secrets: RegisteredSecrets,
  now: number,
): Manifest {
  checkStrings({ title, purpose })
  checkSessionId(id)
  const { secrets: refs, ...facts } = factsOf(original)
  secrets.registerAll(values)
  secrets.apply({ secrets: refs, mask: facts.mask })
  const names = namesOf({ id, key, labels: original.labels }, secrets.gate)
  // The original may have been written by a process that did not know these secrets.
  const clean = JSON.parse(secrets.gate.stringify({ ...facts, title: title ?? facts.title })) as object
  const references = refs.length === 0 ? {} : { secrets: refs }
  const manifest = { ...newManifest(id, store, now), ...names }
  const from = { session_id: original.session_id, seq: 0 }
  return checked(revised(manifest, now, { kind: 'fork', ...clean, ...references, from }), secrets)
}

/** `SECRET_LEAK` if the manifest still contains a secret. */
function checked(manifest: Manifest, { gate }: RegisteredSecrets): Manifest {
  gate.assertClean(JSON.stringify(manifest), 'the manifest of the session')
  return manifest
}

/** `ARG_ERROR` unless each of these facts about a session is a string or undefined. */
export function checkStrings(facts: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(facts)) {
    if (value !== undefined && typeof value !== 'string')
      throw new StintError('ARG_ERROR', `the ${name} of a session must be a string`)
  }
}

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
function namesOf(
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
