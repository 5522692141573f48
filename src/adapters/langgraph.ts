/**
 * A checkpointer for LangGraph. Each thread is a session. A checkpoint is on disk when `put` resolves, and a
 * run that another one has overtaken is refused, so that a thread never forks by accident.
 *
 * @module stint/langgraph
 */
import { isUtf8 } from 'node:buffer'
import { randomUUID } from 'node:crypto'
import type { RunnableConfig } from '@langchain/core/runnables'
import type {
  ChannelVersions,
  Checkpoint,
  CheckpointListOptions,
  CheckpointMetadata,
  CheckpointPendingWrite,
  CheckpointTuple,
  PendingWrite,
  SerializerProtocol,
} from '@langchain/langgraph-checkpoint'
import { StintError } from '../base/errors/stint-error.ts'
import type { HoldOptions, NewEvent, SessionStore } from '../session/index.ts'
import { type FoldedEvent, FoldedSessions } from './folded-sessions.ts'
import { importPeer } from './import-peer.ts'
import {
  firstNeeded,
  type StoredCheckpoint,
  type StoredValue,
  ThreadHistory,
  type WritesData,
} from './thread-history.ts'

const { BaseCheckpointSaver, getCheckpointId, maxChannelVersion, TASKS, WRITES_IDX_MAP } = await importPeer(
  'stint/langgraph',
  '@langchain/langgraph-checkpoint @langchain/core',
  () => import('@langchain/langgraph-checkpoint'),
)

/** How many of the newest events to read for the newest checkpoint, before all are read. */
const tailSizes = [16, 128]
/** How many checkpoints a saver remembers to have read. */
const maxRemembered = 10_000

export interface StintSaverOptions extends Pick<HoldOptions, 'idle' | 'wait'> {
  /** By default LangGraph's own, which writes JSON. */
  serde?: SerializerProtocol
}

/**
 * Keeps the checkpoints of LangGraph's threads in the sessions of a store.
 *
 * @example
 * const graph = builder.compile({ checkpointer: new StintSaver(filesystemStore()) })
 * await graph.invoke(input, { configurable: { thread_id: 'thread-1' } })
 */
export class StintSaver extends BaseCheckpointSaver {
  readonly #threads: FoldedSessions<ThreadHistory>
  /** Identifies this saver in the records that it writes. */
  readonly #writer = randomUUID()
  /** The last record of the thread when a checkpoint was read, by thread, namespace and checkpoint. */
  readonly #readAt = new Map<string, number>()

  constructor(store: SessionStore, { serde, ...options }: StintSaverOptions = {}) {
    super(serde)
    const fold = {
      empty: () => new ThreadHistory(),
      apply: (history: ThreadHistory, event: FoldedEvent) => history.apply(event),
    }
    this.#threads = new FoldedSessions(store, 'langgraph', fold, options)
  }

  override async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const { thread_id: thread, checkpoint_ns: ns = '' } = config.configurable ?? {}
    if (thread === undefined) return undefined
    const id = getCheckpointId(config)
    const history = await (id ? this.#threads.read(thread) : this.#readNewest(thread, ns))
    const stored = history.find(ns, id)
    this.#remember(JSON.stringify([thread, ns, stored?.data?.id ?? id]), history.lastSeq)
    return stored && (await this.#tupleOf(thread, history, stored))
  }

  override async *list(
    config: RunnableConfig,
    { limit = Infinity, before, filter = {} }: CheckpointListOptions = {},
  ): AsyncGenerator<CheckpointTuple> {
    const { thread_id, checkpoint_ns, checkpoint_id } = config.configurable ?? {}
    const below = before && getCheckpointId(before)
    let left = limit
    const threads = thread_id === undefined ? await this.#threads.list() : [{ key: thread_id as string }]
    for (const { key: thread } of threads) {
      const history = await this.#threads.read(thread)
      for (const stored of history.list(checkpoint_ns)) {
        const { id } = stored.data
        if (left <= 0) return
        if ((checkpoint_id && id !== checkpoint_id) || (below && id >= below)) continue
        const facts = new Map(Object.entries(await this.#load<CheckpointMetadata>(stored.data.metadata)))
        if (!Object.entries(filter).every(([name, value]) => facts.get(name) === value)) continue
        left -= 1
        yield await this.#tupleOf(thread, history, stored)
      }
    }
  }

  override async put(
    config: RunnableConfig,
    { channel_values, channel_versions: versions, ...rest }: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<RunnableConfig> {
    const { thread, ns, id: parent } = placeOf(config)
    const { id } = rest
    const changed = Object.entries(channel_values).filter(([name]) => Object.hasOwn(newVersions, name))
    const dumped = Promise.all([
      this.#dump(rest),
      this.#dump(metadata),
      Promise.all(changed.map(async ([name, value]) => [name, await this.#dump(value)] as const)),
    ])
    await this.#append(thread, dumped, (history, [checkpoint, facts, channels]) => {
      // A fork is made on purpose.
      if (metadata.source !== 'fork') this.#assertNotOvertaken(history, thread, { ns, id, parent })
      const writer = this.#writer
      const given = { ns, id, parent, writer, versions, channels, checkpoint, metadata: facts }
      return { type: 'checkpoint', data: history.prepare(given, needsSends(rest)) }
    })
    return { configurable: { thread_id: thread, checkpoint_ns: ns, checkpoint_id: id } }
  }

  override async putWrites(config: RunnableConfig, writes: PendingWrite[], task: string): Promise<void> {
    const { thread, ns, id } = placeOf(config)
    if (id === undefined)
      throw new StintError('ARG_ERROR', 'writes need the checkpoint_id that they belong to')
    const dumped = Promise.all(
      writes.map(async ([channel, value], index) => {
        return [WRITES_IDX_MAP[channel] || index, channel, await this.#dump(value)] as const
      }),
    )
    await this.#append(thread, dumped, (history, values) => {
      this.#assertNotOvertaken(history, thread, { ns, parent: id })
      return { type: 'writes', data: { ns, id, task, writes: values } satisfies WritesData }
    })
  }

  override async deleteThread(threadId: string): Promise<void> {
    await this.#threads.remove(threadId)
  }

  /** Appends the event that `make` makes of values, which are being serialized as they were at the call. */
  async #append<Values>(
    thread: string,
    dumped: Promise<Values>,
    make: (history: ThreadHistory, values: Values) => NewEvent,
  ): Promise<void> {
    // If they cannot be serialized, the caller hears it when their turn comes.
    dumped.catch(() => {})
    await this.#threads.append(thread, async (history) => [make(history, await dumped)])
  }

  /** Reads as few of the newest events as the newest checkpoint of a namespace needs. */
  async #readNewest(thread: string, ns: string): Promise<ThreadHistory> {
    const inspection = this.#threads.isOpen(thread) ? undefined : await this.#threads.inspect(thread)
    for (const count of inspection === undefined ? [] : tailSizes) {
      const events = (await inspection?.tail(count)) ?? []
      const from = firstNeeded(events, ns)
      if (from !== undefined) return await this.#threads.fold(events.filter(({ seq = 0 }) => seq >= from))
    }
    return await this.#threads.read(thread)
  }

  #remember(key: string, seq: number): void {
    this.#readAt.delete(key)
    this.#readAt.set(key, seq)
    const [oldest = ''] = this.#readAt.keys()
    if (this.#readAt.size > maxRemembered) this.#readAt.delete(oldest)
  }

  #assertNotOvertaken(
    history: ThreadHistory,
    thread: string,
    place: { ns: string; parent?: string; id?: string },
  ): void {
    const readAt = this.#readAt.get(JSON.stringify([thread, place.ns, place.parent ?? '']))
    history.assertNotOvertaken(place, this.#writer, readAt)
  }

  async #tupleOf(
    thread: string,
    history: ThreadHistory,
    { data, writes }: StoredCheckpoint,
  ): Promise<CheckpointTuple> {
    const { ns, id, parent, versions } = data
    const configOf = (checkpoint_id: string): RunnableConfig => ({
      configurable: { thread_id: thread, checkpoint_ns: ns, checkpoint_id },
    })
    const values = [...history.valuesOf(data)].map(async ([name, value]) => [name, await this.#load(value)])
    const checkpoint: Checkpoint = {
      ...(await this.#load<Checkpoint>(data.checkpoint)),
      channel_values: Object.fromEntries(await Promise.all(values)) as Record<string, unknown>,
      channel_versions: { ...versions },
    }
    const from = parent === undefined ? undefined : history.find(ns, parent)
    if (needsSends(checkpoint) && from !== undefined) await this.#addSends(checkpoint, from)
    return {
      config: configOf(id),
      checkpoint,
      metadata: await this.#load(data.metadata),
      pendingWrites: await this.#loadWrites(writes),
      ...(parent !== undefined && { parentConfig: configOf(parent) }),
    }
  }

  /** Adds what the step before has sent to other nodes. */
  async #addSends(
    { channel_values, channel_versions }: Checkpoint,
    { writes }: StoredCheckpoint,
  ): Promise<void> {
    const sends = (await this.#loadWrites(writes)).filter(([, channel]) => channel === TASKS)
    const versions = Object.values(channel_versions)
    channel_values[TASKS] = sends.map(([, , value]) => value)
    channel_versions[TASKS] =
      versions.length > 0 ? maxChannelVersion(...versions) : this.getNextVersion(undefined)
  }

  async #loadWrites(writes: StoredCheckpoint['writes']): Promise<CheckpointPendingWrite[]> {
    return await Promise.all(
      [...writes.values()].map(async ({ task, channel, value }): Promise<CheckpointPendingWrite> => [
        task,
        channel,
        await this.#load(value),
      ]),
    )
  }

  async #dump(value: unknown): Promise<StoredValue> {
    const [type, { buffer, byteOffset, byteLength }] = await this.serde.dumpsTyped(value)
    const bytes = Buffer.from(buffer, byteOffset, byteLength)
    return isUtf8(bytes) ? [type, bytes.toString()] : [type, bytes.toString('base64'), 'base64']
  }

  async #load<Value>([type, text, encoding]: StoredValue): Promise<Value> {
    const isJson = type === 'json' && encoding === undefined
    // Not a Buffer: bytes that the graph has stored come back as the array they were.
    return await this.serde.loadsTyped(type, isJson ? text : new Uint8Array(Buffer.from(text, encoding)))
  }
}

/** Before version 4 of the format, what a step sends to other nodes was not in the next checkpoint. */
const needsSends = ({ v }: Pick<Checkpoint, 'v'>): boolean => v < 4

function placeOf({ configurable = {} }: RunnableConfig): { thread: string; ns: string; id?: string } {
  const { thread_id: thread, checkpoint_ns: ns = '', checkpoint_id } = configurable
  if (typeof thread !== 'string' || thread === '')
    throw new StintError('ARG_ERROR', 'a checkpoint needs the thread_id that it belongs to', {
      hint: "Pass it when you run the graph: { configurable: { thread_id: 'thread-1' } }.",
    })
  return { thread, ns, ...(checkpoint_id && { id: checkpoint_id }) }
}
