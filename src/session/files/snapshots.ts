import { join } from 'node:path'
import { Blobs } from '../log/blobs.ts'
import { parsePosition, type Position } from '../log/log-end.ts'
import {
  encodeSnapshot,
  keptSnapshots,
  parseSnapshot,
  restoreSnapshot,
  type Snapshot,
  type StoredSnapshot,
} from '../log/snapshot-codec.ts'
import { replaceFile } from '../../base/fs/atomic-file.ts'
import { type Disk, listIfExists, makeIfMissing, readFile } from '../../base/fs/disk.ts'
import type { FoldedState } from '../state.ts'
import type { LogPositions } from './logs.ts'
import type { SessionPaths } from './paths.ts'

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
    ends: LogPositions,
    state: FoldedState,
    at: number,
    payloadOf: (ext: string) => string = plainPayloads(state),
    spooled: Iterable<string> = [],
  ): void {
    const text = encodeSnapshot({ ends, state, spooled: [...spooled] }, at, (ext) =>
      this.#payloads.put(payloadOf(ext)),
    )
    const { snapshots, root } = this.#paths
    if (makeIfMissing(this.#disk, snapshots)) this.#disk.syncDirectory(root)
    replaceFile(join(snapshots, `${ends.journal.seq}.json`), `${text}\n`, this.#disk)
    this.#prune()
  }

  /** From the newest on, those that can be read and are what was written. */
  *newestFirst(): Generator<Snapshot<Position>> {
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
      const stored = this.#parse(seq)
      if (stored !== undefined) return stored.turns
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

  #read(seq: number): Snapshot<Position> | undefined {
    const stored = this.#parse(seq)
    return stored && restoreSnapshot(stored, (name) => this.#payloads.get(name))
  }

  #parse(seq: number): StoredSnapshot<Position> | undefined {
    const bytes = readFile(this.#disk, join(this.#paths.snapshots, `${seq}.json`))
    const stored = bytes && parseSnapshot(bytes.subarray(0, -1), parsePosition)
    return stored?.seq === seq ? stored : undefined
  }

  /** The newest few stay, and the payloads that they name. */
  #prune(): void {
    const seqs = this.#seqs()
    const old = seqs.slice(keptSnapshots)
    if (old.length === 0) return
    for (const seq of old) this.#disk.unlink(join(this.#paths.snapshots, `${seq}.json`))
    const named = seqs.slice(0, keptSnapshots).flatMap((seq) => Object.values(this.#parse(seq)?.slots ?? {}))
    this.#payloads.keepOnly(new Set(named.flatMap((slot) => ('sha256' in slot ? [slot.sha256] : []))))
  }
}

/** The values as they are: what was read from a session is free of secrets. */
export const plainPayloads =
  ({ slots }: FoldedState) =>
  (ext: string): string =>
    JSON.stringify(slots.get(ext)?.value) ?? 'null'
