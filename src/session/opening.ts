import { hostname } from 'node:os'
import { newSessionId } from '../base/text/id.ts'
import { errorCode, StintError } from '../base/errors/stint-error.ts'
import { checkSecretRef } from '../secrets/index.ts'
import type { Hold, StoreDriver } from './driver.ts'
import { factsOf, type Manifest, newManifest, revised } from './manifest.ts'
import type { SessionSecrets } from './session-secrets.ts'
import type { CreateOptions } from './store.ts'

/** The manifest of a new session, without secrets. */
export function manifestFor(
  store: string,
  { id = newSessionId(), tool, title, workspace, mode, secrets: given = [] }: CreateOptions,
  secrets: SessionSecrets,
  now: number,
): Manifest {
  if (!Array.isArray(given)) throw new StintError('ARG_ERROR', 'the secrets of a session must be a list')
  // Somebody who mistakes the one for the other hands over the secret itself: only what is a reference is written.
  const refs = given.map(checkSecretRef)
  secrets.resolveAll(refs)
  const facts = { tool, title, workspace, mode }
  checkTexts(facts)
  const all = { ...facts, secrets: refs.length === 0 ? undefined : refs }
  const clean = JSON.parse(secrets.gate.stringify(all)) as object
  return revised(newManifest(id, store, now), now, {
    kind: 'create',
    ...clean,
    pid: process.pid,
    host: hostname(),
  })
}

/** `ARG_ERROR` if one of a session's facts is no text. */
export function checkTexts(facts: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(facts)) {
    if (value !== undefined && typeof value !== 'string')
      throw new StintError('ARG_ERROR', `the ${name} of a session must be a text`)
  }
}

/** It is written at every heartbeat. */
const maxPurposeLength = 500

export function holdFor(kind: Hold['kind'], purpose: string | undefined, { gate }: SessionSecrets): Hold {
  checkTexts({ purpose })
  return {
    kind,
    purpose: purpose === undefined ? undefined : gate.text(purpose).slice(0, maxPurposeLength),
  }
}

/** What the session's manifest refers to is kept off the disk before anything of ours is on it. There may be no session yet. */
export async function learnSecrets(driver: StoreDriver, id: string, secrets: SessionSecrets): Promise<void> {
  try {
    secrets.resolveAll(factsOf((await driver.read(id)).manifest).secrets)
  } catch (error) {
    if (errorCode(error) !== 'NOT_FOUND') throw error
  }
}
