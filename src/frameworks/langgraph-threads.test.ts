import { Annotation, Command, interrupt, MemorySaver, StateGraph } from '@langchain/langgraph'
import { type BaseCheckpointSaver, emptyCheckpoint, TASKS, uuid6 } from '@langchain/langgraph-checkpoint'
import { expect, test } from 'vitest'
import { allOf } from '../../test/support/all-of.ts'
import { SessionWorld } from '../../test/support/session-world.ts'
import { filesystemStore } from '../session/index.ts'
import { StintSaver } from './langgraph.ts'
import { type CheckpointData, maxRecordsBack } from './thread-history.ts'

const meta = { source: 'loop', step: 0, parents: {} } as const
const thread = (thread_id: string, more: object = {}) => ({ configurable: { thread_id, ...more } })
const valueOf = async (saver: StintSaver, config: object) => (await saver.get(config))?.channel_values

/** Stores a checkpoint after another, with one channel. */
function put(saver: StintSaver, config: object, value: unknown, version: number) {
  const checkpoint = { ...emptyCheckpoint(), id: uuid6(version), channel_values: { value } }
  const versions = { value: version }
  return saver.put(config, { ...checkpoint, channel_versions: versions }, meta, versions)
}

/** A graph that collects what its steps say, and asks its user in between. */
function conversation(checkpointer: BaseCheckpointSaver) {
  const State = Annotation.Root({
    said: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  })
  return new StateGraph(State)
    .addNode('greet', () => ({ said: ['hello'] }))
    .addNode('ask', () => ({ said: [interrupt<string, string>('your name?')] }))
    .addNode('left', ({ said }) => ({ said: [`left of ${said.length}`] }))
    .addNode('right', ({ said }) => ({ said: [`right of ${said.length}`] }))
    .addEdge('__start__', 'greet')
    .addEdge('greet', 'ask')
    .addEdge('ask', 'left')
    .addEdge('ask', 'right')
    .compile({ checkpointer })
}

test('a graph that was interrupted goes on in another process, with the state that LangGraph’s own saver has', async () => {
  await using world = new SessionWorld()
  const memory = new MemorySaver()
  const [first, second] = [filesystemStore({ home: world.home }), filesystemStore({ home: world.home })]
  for (const checkpointer of [memory, new StintSaver(first)])
    await conversation(checkpointer).invoke({ said: [] }, thread('t'))
  await first.close()
  const results = []
  for (const checkpointer of [memory, new StintSaver(second)]) {
    const graph = conversation(checkpointer)
    const { said } = await graph.invoke(new Command({ resume: 'Ada' }), thread('t'))
    const history = []
    for await (const { values, next, metadata } of graph.getStateHistory(thread('t')))
      history.push({ values: values as unknown, next, metadata })
    results.push({ said, history })
  }
  expect(results[1]?.said).toEqual(['hello', 'Ada', 'left of 2', 'right of 2'])
  expect(results[1]).toEqual(results[0])
  await second.close()
})

test('of two runs that begin with the same checkpoint the second is refused, and nothing of it is stored', async () => {
  await using world = new SessionWorld()
  const [first, second] = [filesystemStore({ home: world.home }), filesystemStore({ home: world.home })]
  const [a, b] = [new StintSaver(first), new StintSaver(second)]
  const root = await put(a, thread('t'), 'root', 1)
  const [base] = await Promise.all([b.getTuple(thread('t')), a.getTuple(thread('t'))])
  expect(base?.config).toEqual(root)
  const next = await put(a, root, 'of a', 2)
  await first.close()
  const stale = { code: 'CHECKPOINT_STALE', message: expect.stringContaining('another run') as string }
  await expect(put(b, root, 'of b', 3)).rejects.toMatchObject(stale)
  await expect(b.putWrites(root, [['value', 'of b']], 'task')).rejects.toMatchObject(stale)
  expect(await valueOf(b, thread('t'))).toEqual({ value: 'of a' })
  const stored = await allOf(b.list(thread('t')))
  expect(stored.map(({ config }) => config)).toEqual([next, root])
  expect(stored[1]?.pendingWrites).toEqual([])
  // After a look at the newest checkpoint, it goes on from there.
  await put(b, next, 'of b', 3)
  await second.close()
})

test('two runs of a new thread, or two at once in one process, do not fork it either', async () => {
  await using world = new SessionWorld()
  const saver = new StintSaver(world.store)
  const graph = conversation(saver)
  const runs = await Promise.allSettled([1, 2].map(() => graph.invoke({ said: [] }, thread('new'))))
  const refused = runs.flatMap((run) => (run.status === 'rejected' ? [run.reason as unknown] : []))
  expect(refused).toMatchObject([{ code: 'CHECKPOINT_STALE' }])
  const parents = (await allOf(saver.list(thread('new')))).map(
    ({ parentConfig }) => parentConfig?.configurable?.checkpoint_id as string | undefined,
  )
  expect(new Set(parents).size).toBe(parents.length)
  await world.store.close()
})

test('an old checkpoint can be continued on purpose: by an update, and by a copy', async () => {
  await using world = new SessionWorld()
  const graph = conversation(new StintSaver(world.store))
  await graph.invoke({ said: [] }, thread('t'))
  await graph.invoke(new Command({ resume: 'Ada' }), thread('t'))
  const states = await allOf(graph.getStateHistory(thread('t')))
  const asking = states.find(({ next }) => next.includes('ask'))
  await graph.updateState(asking?.config ?? {}, { said: ['Eve'] }, 'ask')
  expect((await graph.invoke(null, thread('t'))).said).toEqual(['hello', 'Eve', 'left of 2', 'right of 2'])
  await graph.updateState(asking?.config ?? {}, null, '__copy__')
  expect((await graph.getState(thread('t'))).metadata?.source).toBe('fork')
  await world.store.close()
})

test('the newest checkpoint is read from the end of the journal, however long the thread is', async () => {
  await using world = new SessionWorld()
  const saver = new StintSaver(world.store)
  const rare = { ...emptyCheckpoint(), id: uuid6(0), channel_values: { rare: 'kept', value: 1 } }
  let config = await saver.put(thread('t'), { ...rare, channel_versions: { rare: 1, value: 1 } }, meta, {
    rare: 1,
    value: 1,
  })
  const count = 2 * maxRecordsBack + 5
  for (let n = 2; n <= count; n++) {
    const checkpoint = { ...emptyCheckpoint(), id: uuid6(n), channel_values: { rare: 'kept', value: n } }
    await saver.putWrites(config, [['value', n]], 'task')
    const channel_versions = { rare: 1, value: n }
    config = await saver.put(config, { ...checkpoint, channel_versions }, meta, { value: n })
  }
  await saver.putWrites(config, [['value', 'next']], 'task')
  await world.store.close()
  const other = new StintSaver(filesystemStore({ home: world.home }))
  const newest = await other.getTuple(thread('t'))
  expect(newest?.checkpoint.channel_values).toEqual({ rare: 'kept', value: count })
  expect(newest?.pendingWrites).toEqual([['task', 'value', 'next']])
  const [{ id = '' } = {}] = await world.store.list()
  const events = await allOf((await world.store.inspect(id)).events({ type: 'checkpoint' }))
  const back = events.map(({ seq = 0, data }) => seq - ((data as CheckpointData).since ?? seq))
  expect(Math.max(...back)).toBeGreaterThan(maxRecordsBack - 3)
  expect(Math.max(...back)).toBeLessThanOrEqual(maxRecordsBack)
  const all = await allOf(other.list(thread('t')))
  expect(all.map(({ checkpoint }) => checkpoint.channel_values)).toEqual(
    Array.from({ length: count }, (_, index) => ({ rare: 'kept', value: count - index })),
  )
})

test('a checkpoint with all channels is read from its own record, and one of an old format with what was sent to it', async () => {
  await using world = new SessionWorld()
  const saver = new StintSaver(world.store)
  let config = await put(saver, thread('t'), 'first', 1)
  for (let n = 2; n <= 40; n++) config = await put(saver, config, n, n)
  await saver.putWrites(config, [[TASKS, 'sent']], 'task')
  const old = { ...emptyCheckpoint(), v: 3, id: uuid6(41), channel_values: { value: 'last' } }
  await saver.put(config, { ...old, channel_versions: { value: 41 } }, meta, { value: 41 })
  const [{ id = '' } = {}] = await world.store.list()
  const events = await allOf((await world.store.inspect(id)).events({ type: 'checkpoint' }))
  const since = events.map(({ data }) => (data as CheckpointData).since)
  expect(since).toEqual([...Array.from({ length: 40 }, () => undefined), events.at(-2)?.seq ?? 0])
  await world.store.close()
  const other = new StintSaver(filesystemStore({ home: world.home }))
  expect(await valueOf(other, thread('t'))).toEqual({ value: 'last', [TASKS]: ['sent'] })
})

test('a checkpoint whose id sorts before an earlier one does not become the newest', async () => {
  await using world = new SessionWorld()
  const saver = new StintSaver(world.store)
  const store = (id: string, value: string) => {
    const checkpoint = { ...emptyCheckpoint(), id, channel_values: { value } }
    return saver.put(thread('t'), { ...checkpoint, channel_versions: { value: 1 } }, meta, { value: 1 })
  }
  await store('2', 'newest')
  await store('1', 'older')
  const other = new StintSaver(filesystemStore({ home: world.home }))
  for (const reader of [saver, other]) expect(await valueOf(reader, thread('t'))).toEqual({ value: 'newest' })
  await world.store.close()
})

test('any text can be the id of a thread, and bytes come back as they were', async () => {
  await using world = new SessionWorld()
  const saver = new StintSaver(world.store)
  const ids = ['__proto__', 'constructor', '../../etc', 'ünïcode 🧵', 'a\u0000b', 'x'.repeat(4000)]
  for (const id of ids) await put(saver, thread(id), new Uint8Array([0, 255, 128, 7]), 1)
  for (const id of ids)
    expect(await valueOf(saver, thread(id))).toEqual({ value: new Uint8Array([0, 255, 128, 7]) })
  const listed = await allOf(saver.list({}))
  expect(listed.map(({ config }) => config.configurable?.thread_id as string).sort()).toEqual(ids.toSorted())
  await expect(put(saver, thread(''), 1, 1)).rejects.toMatchObject({ code: 'ARG_ERROR' })
  await expect(put(saver, { configurable: { thread_id: 5 } }, 1, 1)).rejects.toMatchObject({
    code: 'ARG_ERROR',
  })
  expect(await saver.getTuple(thread('never written'))).toBeUndefined()
  await saver.deleteThread('__proto__')
  await saver.deleteThread('never written')
  expect(await saver.getTuple(thread('__proto__'))).toBeUndefined()
  expect(await world.store.list()).toHaveLength(ids.length - 1)
  await world.store.close()
})
