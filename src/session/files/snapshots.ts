import { join } from 'node:path'
import { Blobs } from '../log/blobs.ts'
import { type LogPositions, parsePosition, type Position } from '../log/log-end.ts'
import {
  encodeSnapshot,
  keptSnapshots,
  parseSnapshot,
  restoreSnapshot,
  type Snapshot,
  type StoredSnapshot,
} from '../log/snapshot-codec.ts'
import { replaceBy } from '../../base/fs/atomic-file.ts'
import { type Disk, listIfExists, makeIfMissing, readFile } from '../../base/fs/disk.ts'
import type { BlobName } from '../log/record.ts'
import type { FoldedState } from '../state.ts'
import type { SessionPaths } from './session-directory.ts'

/** The snapshots of a session, a cache of its state. The value of a slot is stored once, by its hash. */
export class Snapshots {
  readonly #disk: Disk
  readonly #paths: SessionPaths
  readonly #values: Blobs

  constructor(disk: Disk, paths: SessionPaths) {
    this.#disk = disk
    this.#paths = paths
    this.#values = new Blobs(disk, paths.state, '.json')
  }

  /**
   * Writes a snapshot. `payloadOf` returns the JSON of a slot's value; it is not called for broken slots. The
   * caller of a snapshot with `isClosing` does not rely on it: its name is not synced.
   */
  async write(
    ends: LogPositions,
    state: FoldedState,
    at: number,
    payloadOf: (ext: string) => string = plainPayloads(state),
    isClosing = false,
  ): Promise<void> {
    const names = new Map<string, BlobName>()
    for (const [ext, { broken }] of state.slots)
      if (broken === undefined) names.set(ext, await this.#values.put(payloadOf(ext)))
    const text = encodeSnapshot({ ends, state }, at, (ext) => names.get(ext) as BlobName)
    const { snapshots, root } = this.#paths
    const isMade = await makeIfMissing(this.#disk, snapshots)
    const path = join(snapshots, `${ends.journal.seq}.json`)
    await replaceBy(this.#disk, path, (put) => put(Buffer.from(`${text}\n`)))
    if (isMade && !isClosing) await this.#disk.syncDirectory(root)
    if (!isClosing) await this.#disk.syncDirectory(snapshots)
    if (!isMade) await this.#prune()
  }

  /** Reads the snapshots from the newest on, without the values of their slots, and skips damaged ones. */
  *newestFirst(): Generator<StoredSnapshot<Position>> {
    for (const seq of this.#seqs()) {
      const stored = this.#parse(seq)
      if (stored !== undefined) yield stored
    }
  }

  /** Reads the values of the slots. Undefined if one cannot be read or is damaged. */
  async restore(stored: StoredSnapshot<Position>): Promise<Snapshot<Position> | undefined> {
    const values = new Map<string, string>()
    try {
      for (const slot of Object.values(stored.slots))
        if ('sha256' in slot) values.set(slot.sha256, await this.#values.get(slot))
    } catch {
      return undefined
    }
    return restoreSnapshot(stored, ({ sha256 }) => values.get(sha256))
  }

  /** The last record that the newest snapshot covers; 0 if there is none. */
  newestSeq(): number {
    return this.#seqs()[0] ?? 0
  }

  /** The newest snapshot that is not damaged, without the values of its slots. */
  newest(): StoredSnapshot<Position> | undefined {
    return this.newestFirst().next().value ?? undefined
  }

  #seqs(): number[] {
    const names = listIfExists(this.#disk, this.#paths.snapshots)
    return names
      .filter((name) => /^\d{1,15}\.json$/.test(name))
      .map((name) => Number.parseInt(name, 10))
      .sort((a, b) => b - a)
  }

  #parse(seq: number): StoredSnapshot<Position> | undefined {
    const bytes = readFile(this.#disk, join(this.#paths.snapshots, `${seq}.json`))
    const stored = bytes && parseSnapshot(bytes.subarray(0, -1), parsePosition)
    return stored?.seq === seq ? stored : undefined
  }

  /** Keeps the newest snapshots and the values that they name, and removes the others. */
  async #prune(): Promise<void> {
    const seqs = this.#seqs()
    const old = seqs.slice(keptSnapshots)
    if (old.length === 0) return
    for (const seq of old) await this.#disk.unlink(join(this.#paths.snapshots, `${seq}.json`))
    const named = seqs.slice(0, keptSnapshots).flatMap((seq) => Object.values(this.#parse(seq)?.slots ?? {}))
    await this.#values.keepOnly(new Set(named.flatMap((slot) => ('sha256' in slot ? [slot.sha256] : []))))
  }
}

/** The JSON of each slot as it is. For state that was read from a session, which contains no secrets. */
const plainPayloads =
  ({ slots }: FoldedState) =>
  (ext: string): string =>
    JSON.stringify(slots.get(ext)?.value) ?? 'null'
