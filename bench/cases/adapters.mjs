import assert from 'node:assert/strict'
import { join } from 'node:path'
import { costOfAsync } from '../harness.mjs'
import { prose } from '../prose.mjs'

const sqlite = 'langgraph-checkpoint-sqlite FULL'
const metadata = { source: 'loop', step: 0, parents: {} }
const thread = (thread_id) => ({ configurable: { thread_id } })

/** Savers whose checkpoint is on disk when `put` resolves. Each function opens one in a directory. */
const savers = {
  async stint(directory, { library }) {
    const { filesystemStore } = await import(library)
    const { StintSaver } = await import(library.replace('index.js', 'adapters/langgraph.js'))
    const store = filesystemStore({ home: join(directory, 'home') })
    return { saver: new StintSaver(store), close: () => store.close() }
  },
  async [sqlite](directory) {
    const { SqliteSaver } = await import('@langchain/langgraph-checkpoint-sqlite')
    const saver = SqliteSaver.fromConnString(join(directory, 'checkpoints.db'))
    saver.setup()
    saver.db.pragma('synchronous = FULL')
    return { saver, close: () => saver.db.close() }
  },
}

/** Opens a saver. Its `put` stores the next checkpoint of a conversation, and returns its config. */
async function open(directory, kind, stint) {
  const { emptyCheckpoint, uuid6 } = await import('@langchain/langgraph-checkpoint')
  const { saver, close } = await savers[kind](directory, stint)
  const put = (config, version) => {
    const messages = Array.from({ length: 10 }, (_, index) => ({ role: 'user', text: prose(200), index }))
    const versions = { messages: version }
    const checkpoint = { ...emptyCheckpoint(), id: uuid6(version), channel_values: { messages } }
    return saver.put(config, { ...checkpoint, channel_versions: versions }, metadata, versions)
  }
  return { saver, put, close }
}

/** Reads the newest checkpoint of a thread, and checks that it is the expected one. */
async function readNewest(saver, { configurable: { thread_id, checkpoint_id } }) {
  const { checkpoint } = await saver.getTuple(thread(thread_id))
  assert.equal(checkpoint.id, checkpoint_id)
  assert.equal(checkpoint.channel_values.messages.length, 10)
}

/** Nanoseconds of a put + getTuple. `threadOf` returns the thread for the number of a call. */
async function costOfSteps({ place, stint }, kind, count, threadOf) {
  const { saver, put, close } = await open(place.renew(), kind, stint)
  const newest = new Map()
  let version = 0
  const cost = await costOfAsync(count, async () => {
    const id = threadOf(++version)
    newest.set(id, await put(newest.get(id) ?? thread(id), version))
    await readNewest(saver, newest.get(id))
  })
  await close()
  return cost
}

/** Writes a thread of 1,000 checkpoints, ends its writer, and opens a reader. */
async function openReader(directory, kind, stint) {
  const { put, close } = await open(directory, kind, stint)
  let config = thread('long')
  for (let version = 1; version <= 1000; version++) config = await put(config, version)
  await close()
  return { ...(await open(directory, kind, stint)), config }
}

const contenders = (run) => Object.keys(savers).map((name) => ({ name, ...run(name) }))

function steps(name, about, count, threadOf, targets) {
  const run = (kind, calls) => (parts) => costOfSteps(parts, kind, calls, threadOf)
  return {
    name: `adapters-${name}`,
    about,
    unit: 'us',
    rounds: 20,
    subject: 'stint',
    targets,
    contenders: contenders((kind) => ({ check: run(kind, 2), run: run(kind, count) })),
  }
}

/** The checkpoints of LangGraph; each sample checks that it reads what was written. */
export default [
  steps(
    'held',
    'LangGraph: put + getTuple of 2 KB while the thread is held, 200 a sample',
    200,
    () => 'one',
    [{ against: sqlite, atMost: 0.7 }],
  ),
  steps(
    'new-thread',
    'LangGraph: put + getTuple of 2 KB in a new thread, 100 a sample; stint closes those over 64',
    100,
    (version) => `thread-${version}`,
    [],
  ),
  {
    name: 'adapters-newest',
    about: 'LangGraph: getTuple of the newest of 1,000 checkpoints of 2 KB, without the lock, 100 a sample',
    unit: 'us',
    rounds: 20,
    subject: 'stint',
    targets: [],
    async setup({ place, stint }) {
      const directory = place.renew()
      const readers = {}
      for (const kind of Object.keys(savers)) readers[kind] = await openReader(directory, kind, stint)
      return readers
    },
    async teardown(readers) {
      for (const { close } of Object.values(readers)) await close()
    },
    contenders: contenders((kind) => ({
      check: ({ [kind]: { saver, config } }) => readNewest(saver, config),
      run: ({ [kind]: { saver, config } }) => costOfAsync(100, () => readNewest(saver, config)),
    })),
  },
]
