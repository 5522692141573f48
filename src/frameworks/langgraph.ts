/**
 * A checkpointer for LangGraph. Each thread is a session. A checkpoint is on disk when `put` resolves, and a
 * run that another one has overtaken is refused, so that a thread never forks by accident.
 *
 * @module stint/langgraph
 */
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
import { StoredValues, together } from './stored-values.ts'
import { firstNeeded, type StoredCheckpoint, ThreadHistory, type WritesData } from './thread-history.ts'

const { BaseCheckpointSaver, getCheckpointId, maxChannelVersion, TASKS, WRITES_IDX_MAP } = await importPeer(
  'stint/langgraph',
  '@langchain/langgraph-checkpoint @langchain/core',
  () => import('@langchain/langgraph-checkpoint'),
)

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
  readonly #values: StoredValues
  /** Identifies this saver in the records that it writes. */
  readonly #writer = randomUUID()
  /** The last record of the thread when a checkpoint was read, by thread, namespace and checkpoint. */
  readonly #readAt = new Map<string, number>()

  constructor(store: SessionStore, { serde, ...options }: StintSaverOptions = {}) {
    super(serde)
    this.#values = new StoredValues(this.serde, serde === undefined)
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
        const facts = new Map(
          Object.entries(await this.#values.load<CheckpointMetadata>(stored.data.metadata)),
        )
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
    const stored = this.#values
    const dumped = together([
      stored.dump(rest),
      stored.dump(metadata),
      together(changed.map(([name, value]) => together([name, stored.dump(value)]))),
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
    const dumped = together(
      writes.map(([channel, value], index) =>
        together([WRITES_IDX_MAP[channel] || index, channel, this.#values.dump(value)]),
      ),
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
    dumped: Values | Promise<Values>,
    make: (history: ThreadHistory, values: Values) => NewEvent,
  ): Promise<void> {
    // If they cannot be serialized, the caller hears it when their turn comes.
    if (dumped instanceof Promise) dumped.catch(() => {})
    await this.#threads.append(thread, async (history) => [make(history, await dumped)])
  }

  /** Reads as few of the newest events as the newest checkpoint of a namespace needs. */
  async #readNewest(thread: string, ns: string): Promise<ThreadHistory> {
    if (this.#threads.isOpen(thread)) return await this.#threads.read(thread)
    const inspection = await this.#threads.inspect(thread)
    const events: FoldedEvent[] = []
    let from: number | undefined
    for await (const event of inspection?.events({ newestFirst: true }) ?? []) {
      if (event.seq === undefined) continue
      events.push(event)
      from ??= firstNeeded(event, ns)
      if (from !== undefined && event.seq <= from) break
    }
    return await this.#threads.fold(events.toReversed())
  }

  #remember(key: string, seq: number): void {
    this.#readAt.delete(key)
    this.#readAt.set(key, seq)
    if (this.#readAt.size <= maxRemembered) return
    const [oldest = ''] = this.#readAt.keys()
    this.#readAt.delete(oldest)
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
    const stored = this.#values
    const channels = [...history.valuesOf(data)].map(([name, value]) => together([name, stored.load(value)]))
    const [rest, metadata, values, pendingWrites] = await together([
      stored.load<Checkpoint>(data.checkpoint),
      stored.load<CheckpointMetadata>(data.metadata),
      together(channels),
      this.#loadWrites(writes),
    ])
    const channel_values: Record<string, unknown> = Object.fromEntries(values)
    const checkpoint: Checkpoint = { ...rest, channel_values, channel_versions: { ...versions } }
    const from = parent === undefined ? undefined : history.find(ns, parent)
    if (needsSends(checkpoint) && from !== undefined) await this.#addSends(checkpoint, from)
    return {
      config: configOf(id),
      checkpoint,
      metadata,
      pendingWrites,
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

  #loadWrites(
    writes: StoredCheckpoint['writes'],
  ): CheckpointPendingWrite[] | Promise<CheckpointPendingWrite[]> {
    return together(
      [...writes.values()].map(({ task, channel, value }) =>
        together([task, channel, this.#values.load(value)]),
      ),
    )
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
