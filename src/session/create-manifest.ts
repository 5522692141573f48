import { hostname } from 'node:os'
import { StintError } from '../base/errors/stint-error.ts'
import { newSessionId } from '../base/text/id.ts'
import { checkSecretRef } from '../secrets/index.ts'
import { type Manifest, newManifest, revised } from './manifest.ts'
import { checkSessionId } from './session-errors.ts'
import { keyId, namesOf } from './session-name.ts'
import type { RegisteredSecrets } from './session-secrets.ts'
import type { CreateOptions } from './store.ts'

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
    secrets: given = [],
    mask = 'registered',
  }: CreateOptions,
  secrets: RegisteredSecrets,
  now: number,
): Manifest {
  checkSessionId(id)
  if (!Array.isArray(given)) throw new StintError('ARG_ERROR', 'the secrets of a session must be an array')
  // A caller may pass the value of a secret by mistake: write nothing but well-formed references.
  const refs = given.map(checkSecretRef)
  if (mask !== 'registered' && mask !== 'tokens')
    throw new StintError('ARG_ERROR', 'the mask of a session is registered or tokens')
  secrets.apply({ secrets: refs, mask })
  const facts = { tool, title, workspace, mode }
  checkStrings(facts)
  const all = { ...facts, secrets: refs.length === 0 ? undefined : refs }
  const clean = JSON.parse(secrets.gate.stringify(all)) as object
  const manifest = { ...newManifest(id, store, now), ...namesOf({ id, key, labels }, secrets.gate) }
  const origin = { kind: 'create', ...clean, mask, pid: process.pid, host: hostname() }
  return secrets.checkedManifest(revised(manifest, now, origin))
}

/** `ARG_ERROR` unless each of these facts about a session is a string or undefined. */
export function checkStrings(facts: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(facts)) {
    if (value !== undefined && typeof value !== 'string')
      throw new StintError('ARG_ERROR', `the ${name} of a session must be a string`)
  }
}
