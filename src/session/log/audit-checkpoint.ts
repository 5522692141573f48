import type { Line } from './lines.ts'

/** How far an audit log had come, as something outside of it says. */
export interface AuditCheckpoint {
  count: number
  head: string
}

const stamp = /,"audit":\{"count":(\d{1,15}),"head":"([0-9a-f]{64})"\},"crc":"[0-9a-f]{8}"\}$/

/** The anchor on a line of the journal, if it has one. Nothing in its data can look like it: there, another brace comes after it. */
export function checkpointOn({ chunk, start, end }: Line): AuditCheckpoint | undefined {
  // Most lines have none, and are told by three bytes: `":"` before the hash, if there were one.
  const at = end - trailerAndHash
  if (at < start || chunk[at] !== 0x22 || chunk[at + 1] !== 0x3a || chunk[at + 2] !== 0x22) return undefined
  const match = stamp.exec(chunk.toString('latin1', Math.max(start, end - 160), end))
  return match === null ? undefined : { count: Number(match[1]), head: match[2] as string }
}

const trailerAndHash = `":"${'0'.repeat(64)}"},"crc":"00000000"}`.length

/** The one that says more. */
export const furthestCheckpoint = (
  anchors: readonly (AuditCheckpoint | undefined)[],
): AuditCheckpoint | undefined =>
  anchors.reduce<AuditCheckpoint | undefined>(
    (most, each) => (each !== undefined && each.count > (most?.count ?? 0) ? each : most),
    undefined,
  )
