import { ifPossible } from '../base/errors/if-possible.ts'
import { attestEnds, type LogEnds, type LogName } from './log/log-end.ts'
import type { BlobName } from './log/record.ts'
import { type Manifest, revised } from './manifest.ts'
import { keyId } from './session-name.ts'

/**
 * A session on its way from one store to another, verified and not held. Its lines have the same bytes in
 * every store, so checksums and checkpoints stay valid.
 */
export interface SessionTransfer {
  /** How the new session comes about: as a copy of a whole session, or of what is left of a damaged one. */
  kind: 'import' | 'repair'
  manifest: Manifest
  ends: LogEnds
  turns: number
  /** The lines of a log, without newlines. */
  lines(log: LogName): AsyncIterable<string>
  blob(name: BlobName): Promise<string>
}

/** The manifest of the copy: it has another id, and names the session and the store that it comes from. */
export function importedManifest(
  { kind, manifest, ends, turns }: Pick<SessionTransfer, 'kind' | 'manifest' | 'ends' | 'turns'>,
  { id, store, now }: { id: string; store: string; now: number },
): Manifest {
  const { session_id, store: from, key, ...rest } = manifest
  // The copy has the key only under the id that stands for it.
  const named = ifPossible(() => keyId(key)) === id ? { key } : {}
  return revised({ ...rest, ...named, session_id: id, store }, now, {
    kind,
    from: { session_id, seq: ends.journal.seq, store: from },
    ...attestEnds(ends),
    turns,
  })
}
