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
  manifest: Manifest
  ends: LogEnds
  turns: number
  /** The lines of a log, without newlines. */
  lines(log: LogName): AsyncIterable<string>
  blob(name: BlobName): Promise<string>
}

/** The manifest of the copy: it has another id, and names the session and the store that it comes from. */
export function importedManifest(
  { manifest, ends, turns }: Pick<SessionTransfer, 'manifest' | 'ends' | 'turns'>,
  { id, store, now }: { id: string; store: string; now: number },
): Manifest {
  const { session_id, store: from, key, ...rest } = manifest
  // The copy has the key only under the id that stands for it.
  const named = ifPossible(() => keyId(key)) === id ? { key } : {}
  return revised({ ...rest, ...named, session_id: id, store }, now, {
    kind: 'import',
    from: { session_id, seq: ends.journal.seq, store: from },
    ...attestEnds(ends),
    turns,
  })
}
