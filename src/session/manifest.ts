import { type AuditCheckpoint, furthestCheckpoint } from './log/audit-checkpoint.ts'
import { isCount, isOptional, isString } from '../base/text/fields.ts'
import type { SecretRef } from '../secrets/index.ts'

/** The identity of a session, and everything that has happened to it as a whole, oldest first. Keys that are not ours survive. */
export interface Manifest {
  schema: 1
  session_id: string
  /** The store that wrote it, and the only one that may resume it. */
  store: string
  created_at: string
  revisions: Revision[]
  [more: string]: unknown
}

export interface Revision {
  rev: number
  at: string
  kind: 'create' | 'resume' | 'annotate' | 'close' | 'fork' | 'repair' | 'import'
  tool?: string
  title?: string
  workspace?: string
  mode?: string
  secrets?: SecretRef[]
  /** Who opened it. */
  pid?: number
  host?: string
  /** A close's: where the logs end. */
  seq?: number
  crc?: string
  audit?: AuditCheckpoint
  turns?: number
  /** A fork's: what it was forked from. Of one that came from elsewhere: what it was there, and in which store. */
  from?: { session_id: string; seq: number; store?: string }
  [more: string]: unknown
}

/** What the revisions, newest last, say now. */
export interface Facts {
  tool?: string
  title?: string
  workspace?: string
  mode?: string
  secrets: SecretRef[]
}

export const newManifest = (sessionId: string, store: string, now: number): Manifest => ({
  schema: 1,
  session_id: sessionId,
  store,
  created_at: new Date(now).toISOString(),
  revisions: [],
})

/** The same with one more revision. */
export function revised(manifest: Manifest, now: number, revision: Omit<Revision, 'rev' | 'at'>): Manifest {
  const rev = (manifest.revisions.at(-1)?.rev ?? 0) + 1
  const next = { rev, at: new Date(now).toISOString(), ...revision } as Revision
  return { ...manifest, revisions: [...manifest.revisions, next] }
}

export function factsOf({ revisions }: Manifest): Facts {
  const facts: Facts = { secrets: [] }
  for (const { tool, title, workspace, mode, secrets } of revisions) {
    if (tool !== undefined) facts.tool = tool
    if (title !== undefined) facts.title = title
    if (workspace !== undefined) facts.workspace = workspace
    if (mode !== undefined) facts.mode = mode
    if (secrets !== undefined) facts.secrets = secrets
  }
  return facts
}

/** How far the journal is known to have come, and the audit log: each close attests it, and each fork, repair and import. */
export function attestedBy({ revisions }: Manifest): { seq: number; audit: AuditCheckpoint | undefined } {
  let most = 0
  for (const { seq = 0 } of revisions) most = Math.max(most, seq)
  return { seq: most, audit: furthestCheckpoint(revisions.map(({ audit }) => audit)) }
}

/** A manifest from a file somebody may have damaged; undefined if it is none. */
export function parseManifest(text: string): Manifest | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (typeof value !== 'object' || value === null) return undefined
  const { schema, session_id, store, created_at, revisions } = value as Record<string, unknown>
  if (schema !== 1 || typeof session_id !== 'string' || typeof store !== 'string') return undefined
  if (typeof created_at !== 'string' || Number.isNaN(Date.parse(created_at))) return undefined
  if (!Array.isArray(revisions) || !revisions.every(isRevision)) return undefined
  return value as Manifest
}

function isRevision(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const { rev, at, kind, seq, audit, secrets, ...facts } = value as Record<string, unknown>
  if (!Number.isSafeInteger(rev) || typeof at !== 'string' || typeof kind !== 'string') return false
  if (!isOptional(seq, isCount) || !(secrets === undefined || Array.isArray(secrets))) return false
  if (!['tool', 'title', 'workspace', 'mode'].every((name) => isOptional(facts[name], isString))) return false
  return audit === undefined || isAnchor(audit)
}

function isAnchor(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const { count, head } = value as Record<string, unknown>
  return isCount(count) && typeof head === 'string'
}
