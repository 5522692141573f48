import { join } from 'node:path'
import type { UnsettledAct } from '../audit-record.ts'
import { Blobs } from '../log/blobs.ts'
import { parsePosition } from '../log/position.ts'
import type { BlobName } from '../log/record.ts'
import { withChecksum, verifiedText } from '../log/line-checksum.ts'
import { replaceFile } from '../../base/fs/atomic-file.ts'
import { type Disk, listIfExists, makeIfMissing, readFile } from '../../base/fs/disk.ts'
import { emptyState, type FoldedState } from '../state.ts'
import type { LogPositions } from './logs.ts'
import type { SessionPaths } from './paths.ts'

/** The state of a session at one position of its logs. */
export interface Snapshot {
  seq: number
  ends: LogPositions
  state: FoldedState
  /** Entries of visitors that were in the logs by then, and whose files were not gone yet. */
  spooled: readonly string[]
}

interface SnapshotFile {
  schema: 1
  seq: number
  at: number
  turns: number
  journal: unknown
  audit: unknown
  unsettled: UnsettledAct[]
  slots: Record<string, SlotFile>
  spooled?: string[]
}

type SlotFile = { version: string } & (BlobName | { broken: string })

const kept = 3

/** The snapshots of a session: a cache of what its journal says. The payload of a slot is kept once, by its hash. */
export class Snapshots {
  readonly #disk: Disk
  readonly #paths: SessionPaths
  readonly #payloads: Blobs

  constructor(disk: Disk, paths: SessionPaths) {
    this.#disk = disk
    this.#paths = paths
    this.#payloads = new Blobs(disk, paths.state, '.json')
  }

  /** `payloadOf` gives the text of a slot's value; it is not asked for one that is broken. */
  write(
    { journal, audit }: LogPositions,
    state: FoldedState,
    at: number,
    payloadOf: (ext: string) => string = plainPayloads(state),
    spooled: Iterable<string> = [],
  ): void {
    const slots: SnapshotFile['slots'] = {}
    for (const [ext, { version, broken }] of state.slots) {
      slots[ext] = { version, ...(broken === undefined ? this.#payloads.put(payloadOf(ext)) : { broken }) }
    }
    const file: SnapshotFile = {
      schema: 1,
      seq: journal.seq,
      at,
      turns: state.turns,
      journal,
      audit,
      unsettled: [...state.unsettled.values()],
      slots,
      spooled: [...spooled],
    }
    const { snapshots, root } = this.#paths
    if (makeIfMissing(this.#disk, snapshots)) this.#disk.syncDirectory(root)
    const text = withChecksum(JSON.stringify(file).slice(0, -1))
    replaceFile(join(snapshots, `${journal.seq}.json`), `${text}\n`, this.#disk)
    this.#prune()
  }

  /** From the newest on, those that can be read and are what was written. */
  *newestFirst(): Generator<Snapshot> {
    for (const seq of this.#seqs()) {
      const snapshot = this.#read(seq)
      if (snapshot !== undefined) yield snapshot
    }
  }

  /** The last record of the newest one; 0 if there is none. */
  newestSeq(): number {
    return this.#seqs()[0] ?? 0
  }

  /** The turns that the newest one counts: a list needs nothing else of it. */
  newestTurns(): number {
    for (const seq of this.#seqs()) {
      const { turns = -1 } = this.#parse(seq) ?? {}
      if (Number.isSafeInteger(turns) && turns >= 0) return turns
    }
    return 0
  }

  #seqs(): number[] {
    const names = listIfExists(this.#disk, this.#paths.snapshots)
    return names
      .filter((name) => /^\d{1,15}\.json$/.test(name))
      .map((name) => Number.parseInt(name, 10))
      .sort((a, b) => b - a)
  }

  #read(seq: number): Snapshot | undefined {
    const file = this.#parse(seq)
    if (file === undefined) return undefined
    const [journal, audit] = [parsePosition(file.journal), parsePosition(file.audit)]
    if (journal === undefined || audit === undefined) return undefined
    const { spooled = [], turns } = file
    if (!Number.isSafeInteger(turns) || turns < 0 || !Array.isArray(spooled)) return undefined
    const state = emptyState()
    state.turns = turns
    try {
      for (const act of file.unsettled) state.unsettled.set(act.act, act)
      for (const [ext, slot] of Object.entries(file.slots)) {
        const { version } = slot
        if ('broken' in slot) state.slots.set(ext, { version, value: undefined, broken: slot.broken })
        else state.slots.set(ext, { version, value: JSON.parse(this.#payloads.get(slot)) as unknown })
      }
    } catch {
      return undefined
    }
    return { seq, ends: { journal, audit }, state, spooled }
  }

  #parse(seq: number): SnapshotFile | undefined {
    const bytes = readFile(this.#disk, join(this.#paths.snapshots, `${seq}.json`))
    const text = bytes === undefined ? undefined : verifiedText(bytes.subarray(0, -1))
    if (text === undefined) return undefined
    try {
      const file = JSON.parse(`${text.toString()}}`) as SnapshotFile
      return file.schema === 1 && file.seq === seq ? file : undefined
    } catch {
      return undefined
    }
  }

  /** The newest few stay, and the payloads that they name. */
  #prune(): void {
    const seqs = this.#seqs()
    const old = seqs.slice(kept)
    if (old.length === 0) return
    for (const seq of old) this.#disk.unlink(join(this.#paths.snapshots, `${seq}.json`))
    const named = seqs.slice(0, kept).flatMap((seq) => Object.values(this.#parse(seq)?.slots ?? {}))
    this.#payloads.keepOnly(new Set(named.flatMap((slot) => ('sha256' in slot ? [slot.sha256] : []))))
  }
}

/** The values as they are: what was read from a session is free of secrets. */
export const plainPayloads =
  ({ slots }: FoldedState) =>
  (ext: string): string =>
    JSON.stringify(slots.get(ext)?.value) ?? 'null'
