import { type AuditCheckpoint, furthestCheckpoint } from './log/record.ts'
import { isCount, isOptional, isRecord, isString, parseObject } from '../base/text/fields.ts'
import type { SecretRef } from '../secrets/index.ts'
import type { ListOptions, Mask, SessionSummary } from './store.ts'

/** The identity of a session and its history. Keys that this version does not know are kept. */
export interface Manifest {
  schema: 1
  session_id: string
  /** The store that wrote it, and the only one that may resume it. */
  store: string
  created_at: string
  /** Its id stands for this. */
  key?: string
  labels?: Record<string, string>
  /** The history of the session as a whole, oldest first, without old resumes and closes. */
  revisions: Revision[]
  [more: string]: unknown
}

const textFacts = ['tool', 'title', 'workspace', 'mode'] as const
interface TextFacts extends Partial<Record<(typeof textFacts)[number], string>> {}

export interface Revision extends TextFacts {
  rev: number
  at: string
  kind: 'create' | 'resume' | 'annotate' | 'close' | 'fork' | 'repair' | 'import'
  secrets?: SecretRef[]
  mask?: Mask
  /** The process and the machine that opened it. */
  pid?: number
  host?: string
  /** Where the logs end: in a close, fork, repair or import. */
  seq?: number
  crc?: string
  audit?: AuditCheckpoint
  /** The original of a fork, up to this record; the original of an imported session, and its store. */
  from?: { session_id: string; seq: number; store?: string }
  [more: string]: unknown
}

/** The facts about a session, each from the newest revision that has it. */
export interface Facts extends TextFacts {
  secrets: SecretRef[]
  mask: Mask
}

export const newManifest = (sessionId: string, store: string, now: number): Manifest => ({
  schema: 1,
  session_id: sessionId,
  store,
  created_at: new Date(now).toISOString(),
  revisions: [],
})

/** Returns the manifest with one more revision, and without old ones that have become superfluous. */
export function revised(manifest: Manifest, now: number, revision: Omit<Revision, 'rev' | 'at'>): Manifest {
  const rev = (manifest.revisions.at(-1)?.rev ?? 0) + 1
  const next = { rev, at: new Date(now).toISOString(), ...revision } as Revision
  return { ...manifest, revisions: prune([...manifest.revisions, next]) }
}

/** How many of the newest revisions are kept in any case. */
const keptRevisions = 32
/** The kinds that tell where a session comes from, or what was done to its records. All of these are kept. */
const origins = new Set<Revision['kind']>(['create', 'fork', 'import', 'repair'])
const factNames = [...textFacts, 'secrets', 'mask'] as const

/**
 * Drops old revisions: the manifest is rewritten whole at every resume and close, and a session may have
 * thousands. An old one is kept if a present fact comes from it, or if it attests the most of a log.
 */
function prune(revisions: readonly Revision[]): Revision[] {
  const sources = factNames.map((name) => revisions.findLast((revision) => revision[name] !== undefined))
  const { seq, audit } = attestedBy({ revisions })
  const attesting = revisions.filter((revision) => audit !== undefined && revision.audit === audit)
  const last = revisions.findLast((revision) => revision.seq === seq)
  const needed = new Set([...revisions.slice(-keptRevisions), ...sources, ...attesting, last])
  return revisions.filter((revision) => needed.has(revision) || origins.has(revision.kind))
}

export function factsOf({ revisions }: Manifest): Facts {
  // Of a damaged session it may not be known what it masks: then it masks more.
  const facts: Facts = { secrets: [], mask: 'tokens' }
  for (const { secrets, mask, ...texts } of revisions) {
    for (const name of textFacts) if (texts[name] !== undefined) facts[name] = texts[name]
    if (secrets !== undefined) facts.secrets = secrets
    if (mask === 'registered' || mask === 'tokens') facts.mask = mask
  }
  return facts
}

/** The summary of a session, from its manifest and what only its driver knows. */
export function summarize(
  manifest: Manifest,
  {
    lastAt,
    ...known
  }: Pick<SessionSummary, 'state' | 'records' | 'bytes' | 'diskBytes' | 'holder'> & {
    lastAt?: number
  },
): SessionSummary {
  const { tool, title, workspace } = factsOf(manifest)
  const createdAt = Date.parse(manifest.created_at)
  const { session_id: id, store, key, labels } = manifest
  return { id, store, key, labels, tool, title, workspace, createdAt, lastAt: lastAt ?? createdAt, ...known }
}

/** Sorts summaries: newest activity first. */
export const byLastActivity = (a: SessionSummary, b: SessionSummary): number =>
  b.lastAt - a.lastAt || (a.id < b.id ? -1 : 1)

/** Whether a list with these options shows a session. `newest` is not applied here. */
export const matchesFilter = (
  summary: SessionSummary,
  { workspace, tool, prefix = '', keyPrefix, labels = {} }: ListOptions,
): boolean =>
  (workspace ?? summary.workspace) === summary.workspace &&
  (tool ?? summary.tool) === summary.tool &&
  summary.id.startsWith(prefix) &&
  (keyPrefix === undefined || summary.key?.startsWith(keyPrefix) === true) &&
  Object.entries(labels).every(([name, value]) => summary.labels?.[name] === value)

/** How far both logs must reach: closes, forks, repairs and imports attest it. */
export function attestedBy({ revisions }: { revisions: readonly Revision[] }): {
  seq: number
  audit: AuditCheckpoint | undefined
} {
  let most = 0
  for (const { seq = 0 } of revisions) most = Math.max(most, seq)
  return { seq: most, audit: furthestCheckpoint(revisions.map(({ audit }) => audit)) }
}

/** A manifest read from stored JSON, which may be damaged; undefined if it is invalid. */
export function parseManifest(text: string): Manifest | undefined {
  const value = parseObject(text)
  const { schema, session_id, store, created_at, revisions, key, labels } = value ?? {}
  if (schema !== 1 || typeof session_id !== 'string' || typeof store !== 'string') return undefined
  if (!isOptional(key, isString) || !isOptional(labels, isLabels)) return undefined
  if (typeof created_at !== 'string' || Number.isNaN(Date.parse(created_at))) return undefined
  if (!Array.isArray(revisions) || !revisions.every(isRevision)) return undefined
  return value as unknown as Manifest
}

const isLabels = (value: unknown): boolean => isRecord(value) && Object.values(value).every(isString)

function isRevision(value: unknown): boolean {
  if (!isRecord(value)) return false
  const { rev, at, kind, seq, audit, secrets, ...facts } = value
  if (!Number.isSafeInteger(rev) || typeof at !== 'string' || typeof kind !== 'string') return false
  if (!isOptional(seq, isCount) || !(secrets === undefined || Array.isArray(secrets))) return false
  if (!textFacts.every((name) => isOptional(facts[name], isString))) return false
  return audit === undefined || (isRecord(audit) && isCount(audit.count) && isString(audit.head))
}
