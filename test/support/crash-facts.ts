import {
  applyAuditRecord,
  auditRecordOf,
  emptyState,
  type FoldedState,
  slotType,
  turnType,
} from '../../src/session/state.ts'
import { readRecords } from '../../src/session/log/read.ts'
import type { LogRecord } from '../../src/session/log/record.ts'
import type { Disk } from '../../src/base/fs/disk.ts'
import type { LogName } from '../../src/session/log/codec.ts'
import { verifyLogs } from '../../src/session/log/verify.ts'
import type { Manifest } from '../../src/session/manifest.ts'
import { readingOf } from './crash-driver.ts'

/** The contents of a session's files, in terms of the workloads: each record has a name of its own. */
export interface Facts {
  journal: string[]
  audit: string[]
  closes: number
  /** The state as recovered from the newest snapshot, and as replayed from the logs alone. */
  state: string
  replayed: string
}

export async function factsOf(
  disk: Disk,
  id: string,
  manifest: Manifest,
  state: FoldedState,
): Promise<Facts> {
  const medium = readingOf(disk, id, manifest)
  const read = async (log: LogName): Promise<LogRecord[]> => {
    const all: LogRecord[] = []
    for await (const record of readRecords(medium, log)) all.push(record)
    return all
  }
  const records = await read('journal')
  const audit = (await read('audit')).map(auditRecordOf)
  const replayed = emptyState()
  for (const record of records) replay(replayed, record)
  for (const record of audit) applyAuditRecord(replayed, record)
  return {
    journal: records.map(nameOf),
    // The store itself writes lines that report a full disk.
    audit: audit.filter(({ action }) => action !== 'append').map(({ type, action }) => `${type} ${action}`),
    closes: manifest.revisions.filter(({ kind }) => kind === 'close').length,
    state: written(state),
    replayed: written(replayed),
  }
}

/** The findings of a verification. */
export async function findingsOf(disk: Disk, id: string, manifest: Manifest): Promise<string[]> {
  const { ok, ...health } = await verifyLogs(readingOf(disk, id, manifest))
  const findings = [...health.journal.findings, ...health.audit.findings, ...health.blobs]
  return ok ? [] : findings.map((what) => `verify: ${what}`)
}

const nameOf = ({ data }: LogRecord): string => String((data as { n?: unknown } | null)?.n)

/** Written a second time here, so that recovery is not compared with itself. */
function replay(state: FoldedState, { type, data, slot }: LogRecord): void {
  if (type === turnType) state.turns += 1
  if (type === slotType && slot !== undefined)
    state.slots.set(slot.ext, { version: slot.version, value: data })
}

const written = ({ turns, slots, unsettled }: FoldedState): string =>
  JSON.stringify({ turns, slots: [...slots].sort(), unsettled: [...unsettled.keys()].sort() })
