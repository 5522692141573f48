import type { LogEnds, LogName } from './log/log-end.ts'
import type { BlobName } from './log/record.ts'
import { type Manifest, revised } from './manifest.ts'

/**
 * A session on its way from one store to another: verified, and held by nobody. Its lines are the same in every store, to the byte, so what attests
 * them goes on attesting them.
 */
export interface SessionTransfer {
  manifest: Manifest
  ends: LogEnds
  turns: number
  /** Without their newlines. */
  lines(log: LogName): AsyncIterable<string>
  blob(name: BlobName): Promise<string>
}

/** Its manifest in the other store: another session, which says where it comes from. */
export function importedManifest(
  { manifest, ends: { journal, audit }, turns }: Pick<SessionTransfer, 'manifest' | 'ends' | 'turns'>,
  { id, store, now }: { id: string; store: string; now: number },
): Manifest {
  const { session_id, store: from } = manifest
  return revised({ ...manifest, session_id: id, store }, now, {
    kind: 'import',
    from: { session_id, seq: journal.seq, store: from },
    seq: journal.seq,
    crc: journal.tail,
    audit: { count: audit.seq, head: audit.tail },
    turns,
  })
}
