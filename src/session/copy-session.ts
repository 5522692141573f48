import { StintError } from '../base/errors/stint-error.ts'
import { ifPossible } from '../base/errors/if-possible.ts'
import { newSessionId } from '../base/text/id.ts'
import { contentsOf, readPart } from './log/copy.ts'
import { attestEnds, forkPoint, isSameEnd, type LogEnds } from './log/log-end.ts'
import { recoverLogs } from './log/recover.ts'
import { verifyLogs } from './log/verify.ts'
import { type Manifest, revised } from './manifest.ts'
import type { Medium, ReadableMedium, SessionContents } from './medium.ts'
import { assertIntact, checkSessionId, sessionLocked } from './session-errors.ts'
import { keyId } from './session-name.ts'

/**
 * Copies a session up to record `at` (all of it if undefined) into a new one that is not held. It takes no
 * lock: what it checks and copies never changes, even while a writer appends.
 */
export async function forkSession(
  medium: Medium,
  from: string,
  at: number | undefined,
  manifestAt: (seq: number) => Manifest,
): Promise<void> {
  const source = await medium.read(from)
  const recovered = await recoverLogs(source)
  const seq = forkPoint(at, recovered.journal.end.seq)
  const journal = await readPart(source, 'journal', seq)
  // Audit lines after the last checkpoint belong to the fork if it has the whole journal.
  const isWhole = seq === recovered.journal.end.seq && recovered.journal.state !== 'damaged'
  const last = Math.max(recovered.audit.end.seq, source.ends.audit.seq)
  const audit = await readPart(source, 'audit', Math.max(journal.audited, isWhole ? last : 0))
  const ends = { journal: journal.end, audit: audit.end }
  await medium.load(attesting(manifestAt(seq), ends), contentsOf(source, { journal, audit }))
}

/**
 * Attests both logs of a fork. Its journal may end within an append of several records, which then count. Its
 * audit log may have more lines than the journal attests.
 */
const attesting = (manifest: Manifest, ends: LogEnds): Manifest => ({
  ...manifest,
  revisions: manifest.revisions.map((revision) =>
    revision.kind === 'fork' ? { ...revision, ...attestEnds(ends) } : revision,
  ),
})

/**
 * Copies a session to another medium, under a new id or this one. Its lines have the same bytes there, so
 * checksums and checkpoints stay valid. `SESSION_LOCKED`; throws if it is damaged.
 */
export async function copySession(
  source: ReadableMedium,
  target: Medium,
  now: number,
  id: string = newSessionId(),
): Promise<{ id: string; ends: LogEnds }> {
  checkSessionId(id)
  const { session_id: from } = source.manifest
  const { state, holder } = source.summary
  if (state === 'active' || state === 'locked') throw sessionLocked(from, holder)
  const health = await verifyLogs(source)
  assertIntact(from, health)
  const journal = await readPart(source, 'journal', health.journal.lastSeq)
  const audit = await readPart(source, 'audit', health.audit.lastSeq)
  const ends = { journal: journal.end, audit: audit.end }
  const contents = contentsOf(source, { journal, audit })
  const facts = { kind: 'import', original: source.manifest, ends, turns: journal.turns } as const
  await loadVerified(target, id, contents, facts, now)
  return { id, ends }
}

/** Where the contents of a new session come from. */
export interface CopyFacts {
  kind: 'import' | 'repair'
  original: Manifest
  ends: LogEnds
  turns: number
}

/** Creates a session from contents, and reads it again: it must have these ends. */
export async function loadVerified(
  target: Medium,
  id: string,
  contents: SessionContents,
  { kind, original, ends, turns }: CopyFacts,
  now: number,
): Promise<void> {
  const { session_id, store: from, key, ...rest } = original
  // The copy has the key only under the id that stands for it.
  const named = ifPossible(() => keyId(key)) === id ? { key } : {}
  const manifest = revised({ ...rest, ...named, session_id: id, store: target.id }, now, {
    kind,
    from: { session_id, seq: ends.journal.seq, store: from },
    ...attestEnds(ends),
    turns,
  })
  await target.load(manifest, contents)
  try {
    await assertLoaded(await target.read(id), ends)
  } catch (error) {
    await target.remove(id, { purge: true })
    throw error
  }
}

async function assertLoaded(medium: ReadableMedium, ends: LogEnds): Promise<void> {
  const { journal, audit, ok } = await verifyLogs(medium)
  const isSame = isSameEnd(ends.journal, { seq: journal.lastSeq, sum: journal.head })
  if (ok && isSame && isSameEnd(ends.audit, { seq: audit.lastSeq, sum: audit.head })) return
  const { session_id: id } = medium.manifest
  throw new StintError('JOURNAL_CORRUPT', `${id} was changed while it was copied: nothing was created`)
}
