import { hostname } from 'node:os'
import { parseDuration } from '../primitives/duration.ts'
import { newSessionId } from '../primitives/id.ts'
import { StintError } from '../primitives/stint-error.ts'
import type { Hold } from './driver.ts'
import { type Manifest, newManifest, revised } from './manifest.ts'
import type { SessionSecrets } from './session-secrets.ts'
import type { CreateOptions } from './store.ts'

/** The manifest of a new session, without secrets. */
export function manifestFor(
  store: string,
  { id = newSessionId(), tool, title, workspace, mode, secrets: refs = [] }: CreateOptions,
  { gate }: SessionSecrets,
  now: number,
): Manifest {
  const facts = { tool, title, workspace, mode, secrets: refs.length === 0 ? undefined : refs }
  for (const [name, value] of Object.entries({ tool, title, workspace, mode })) {
    if (value !== undefined && typeof value !== 'string')
      throw new StintError('ARG_ERROR', `the ${name} of a session must be a text`)
  }
  const clean = JSON.parse(gate.stringify(facts)) as object
  return revised(newManifest(id, store, now), now, {
    kind: 'create',
    ...clean,
    pid: process.pid,
    host: hostname(),
  })
}

/** It is written at every heartbeat. */
const maxPurposeLength = 500

export const holdFor = (kind: Hold['kind'], purpose: string | undefined, { gate }: SessionSecrets): Hold => ({
  kind,
  purpose: purpose === undefined ? undefined : gate.text(purpose).slice(0, maxPurposeLength),
  inspect: (bytes) => gate.assertClean(bytes, 'a record of the session'),
})

/** A duration as people write it, or milliseconds. */
export function waitMs(wait: string | number): number {
  const ms = typeof wait === 'number' ? wait : parseDuration(wait)
  if (ms !== undefined && ms >= 0) return ms
  throw new StintError('ARG_ERROR', `${JSON.stringify(wait)} is no duration`, {
    hint: 'Write 500ms, 10s or 2m.',
  })
}
