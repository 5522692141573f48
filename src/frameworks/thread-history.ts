import { StintError } from '../base/errors/stint-error.ts'
import { visibleText } from '../base/text/escape.ts'
import type { FoldedEvent } from './folded-sessions.ts'

/** A value in the form that the graph's serializer gave it: its type, and its bytes as UTF-8 or base64. */
export type StoredValue = readonly [type: string, text: string, encoding?: 'base64']

/** A checkpoint that a saver wants to store. */
interface NewCheckpoint {
  ns: string
  id: string
  parent?: string
  /** The saver that stores it. */
  writer: string
  versions: Readonly<Record<string, string | number>>
  /** The values of the channels that have changed since the parent. */
  channels: readonly (readonly [channel: string, value: StoredValue])[]
  /** The checkpoint without its channels. */
  checkpoint: StoredValue
  metadata: StoredValue
}

/** The data of a `checkpoint` event. */
export interface CheckpointData extends NewCheckpoint {
  /** `channels` has all values: those of the ancestors are not needed. */
  full?: true
  /** The first record that is needed to read the newest checkpoint, if that is not this record. */
  since?: number
}

/** The data of a `writes` event. An index below 0 replaces an earlier write; others count once. */
export interface WritesData {
  ns: string
  id: string
  task: string
  writes: readonly (readonly [index: number, channel: string, value: StoredValue])[]
}

/** A checkpoint of a history. */
export interface StoredCheckpoint {
  data: CheckpointData
  /** By task and index. */
  writes: Map<string, { task: string; channel: string; value: StoredValue }>
}

/** The record of a checkpoint, if it is stored: writes and children may be there without it. */
interface Entry extends Omit<StoredCheckpoint, 'data'> {
  data?: CheckpointData
  seq: number
  /** The record of the first writes. */
  writesFrom?: number
  /** By id. */
  children: Map<string, { writer: string; seq: number }>
}

/** How many records a reader of the newest checkpoint reads at most, about. */
export const maxRecordsBack = 64

/** The checkpoints of one thread, folded from its events. The parent of a first checkpoint has the id ''. */
export class ThreadHistory {
  readonly #namespaces = new Map<string, Map<string, Entry>>()
  readonly #newest = new Map<string, Entry>()
  /** The last record that was applied. */
  lastSeq = 0

  apply({ seq, type, data }: FoldedEvent): void {
    this.lastSeq = Math.max(this.lastSeq, seq)
    if (type === 'checkpoint') this.#applyCheckpoint(seq, data as CheckpointData)
    if (type === 'writes') this.#applyWrites(seq, data as WritesData)
  }

  #applyCheckpoint(seq: number, data: CheckpointData): void {
    const stored = this.#at(data.ns, data.id)
    Object.assign(stored, { seq, data })
    this.#at(data.ns, data.parent ?? '').children.set(data.id, { writer: data.writer, seq })
    const newest = this.#newest.get(data.ns)?.data
    if (newest === undefined || data.id.localeCompare(newest.id) >= 0) this.#newest.set(data.ns, stored)
  }

  #applyWrites(seq: number, { ns, id, task, writes }: WritesData): void {
    const stored = this.#at(ns, id)
    stored.writesFrom ??= seq
    for (const [index, channel, value] of writes) {
      const key = `${task},${index}`
      if (index < 0 || !stored.writes.has(key)) stored.writes.set(key, { task, channel, value })
    }
  }

  #at(ns: string, id: string): Entry {
    const checkpoints = this.#namespaces.get(ns) ?? new Map<string, Entry>()
    this.#namespaces.set(ns, checkpoints)
    const stored = checkpoints.get(id) ?? { seq: 0, writes: new Map(), children: new Map() }
    checkpoints.set(id, stored)
    return stored
  }

  /** The checkpoint with this id, or without one the newest of a namespace. */
  find(ns: string, id?: string): StoredCheckpoint | undefined {
    const entry = id ? this.#namespaces.get(ns)?.get(id) : this.#newest.get(ns)
    return entry && isStored(entry) ? entry : undefined
  }

  /** All checkpoints, or those of one namespace, newest first in each. */
  list(ns?: string): StoredCheckpoint[] {
    const namespaces = ns === undefined ? [...this.#namespaces.values()] : [this.#namespaces.get(ns)]
    return namespaces.flatMap((entries) =>
      [...(entries?.values() ?? [])].filter(isStored).sort((a, b) => b.data.id.localeCompare(a.data.id)),
    )
  }

  /** The values of all channels: its own, and those that it has in the version of its parent. */
  valuesOf(data: CheckpointData): Map<string, StoredValue> {
    return this.#collect(data).values
  }

  /** The values of all channels, and the first record of the ancestors that have them, or Infinity. */
  #collect(data: CheckpointData): { values: Map<string, StoredValue>; from: number } {
    const values = new Map(data.channels)
    const wanted = new Map(Object.entries(data.versions).filter(([name]) => !values.has(name)))
    let from = Infinity
    for (let at: CheckpointData | undefined = data; at !== undefined && !at.full && wanted.size > 0;) {
      const parent = this.#parentOf(at)
      const channels = new Map(parent?.data?.channels)
      const versions = new Map(Object.entries(parent?.data?.versions ?? {}))
      for (const [name, version] of wanted) {
        const value = channels.get(name)
        if (versions.get(name) !== version) wanted.delete(name)
        else if (value !== undefined && wanted.delete(name)) values.set(name, value)
      }
      at = parent?.data
      if (parent !== undefined && at !== undefined) from = Math.min(from, parent.seq)
    }
    return { values, from }
  }

  #parentOf({ ns, parent }: NewCheckpoint): Entry | undefined {
    return parent === undefined ? undefined : this.#namespaces.get(ns)?.get(parent)
  }

  /**
   * The data of the event for a new checkpoint, which says how far back its readers must read. `needsParent`:
   * they read the writes of its parent, too.
   */
  prepare(given: NewCheckpoint, needsParent: boolean): CheckpointData {
    const { writesFrom = Infinity } = this.#at(given.ns, given.id)
    const newest = this.#newest.get(given.ns)
    const parent = needsParent ? this.#parentOf(given) : undefined
    const needed = [writesFrom]
    if (newest?.data !== undefined && given.id.localeCompare(newest.data.id) < 0) needed.push(firstOf(newest))
    if (parent?.data !== undefined) needed.push(parent.seq, parent.writesFrom ?? Infinity)
    const { values, from } = this.#collect(given)
    if (this.lastSeq - from < maxRecordsBack) return withSince(given, [...needed, from])
    return withSince({ ...given, full: true, channels: [...values] }, needed)
  }

  /**
   * Throws `CHECKPOINT_STALE` if another run has stored a child of this checkpoint that the asking one has
   * not seen. `readAt` is the last record of the thread when the asking saver read the checkpoint, if it has.
   */
  assertNotOvertaken(
    { ns, parent = '', id }: { ns: string; parent?: string; id?: string },
    saver: string,
    readAt?: number,
  ): void {
    const { data, seq: storedAt, children } = this.#at(ns, parent)
    const seen = data?.writer === saver ? Math.max(readAt ?? 0, storedAt) : readAt
    for (const [child, { writer, seq }] of children) {
      // Without a read in between, a saver may store several children of a checkpoint.
      if (child === id || seq <= ((writer === saver ? readAt : seen) ?? Infinity)) continue
      const done = parent === '' ? 'begun it' : `continued it after checkpoint ${visibleText(parent)}`
      throw new StintError('CHECKPOINT_STALE', `another run of this thread has ${done}: nothing was stored`)
    }
  }
}

const isStored = (entry: Entry): entry is Entry & StoredCheckpoint => entry.data !== undefined

/** The first record that is needed to read this checkpoint. */
const firstOf = ({ seq, data }: Entry): number => data?.since ?? seq

function withSince(data: CheckpointData, needed: number[]): CheckpointData {
  const since = Math.min(...needed)
  return since === Infinity ? data : { ...data, since }
}

/**
 * The record from which the newest checkpoint of a namespace can be read, if this event, the last one with a
 * checkpoint, is in that namespace.
 */
export function firstNeeded({ seq, type, data }: FoldedEvent, ns: string): number | undefined {
  const { ns: own, since = seq } = (type === 'checkpoint' ? data : {}) as Partial<CheckpointData>
  return own === ns ? since : undefined
}
