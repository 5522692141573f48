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
    const { StintSaver } = await import(library.replace('index.js', 'langgraph.js'))
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

/** Makes the checkpoints of a conversation, before anything is timed. */
async function checkpoints(count) {
  const { emptyCheckpoint, uuid6 } = await import('@langchain/langgraph-checkpoint')
  return Array.from({ length: count }, (_, step) => {
    const messages = Array.from({ length: 10 }, (_, index) => ({ role: 'user', text: prose(200), index }))
    const channel_versions = { messages: step + 1 }
    return { ...emptyCheckpoint(), id: uuid6(step), channel_values: { messages }, channel_versions }
  })
}

const put = (saver, config, checkpoint) =>
  saver.put(config, checkpoint, metadata, checkpoint.channel_versions)

/** Reads the newest checkpoint of a thread, and checks that it is the expected one. */
async function readNewest(saver, { configurable: { thread_id, checkpoint_id } }) {
  const { checkpoint } = await saver.getTuple(thread(thread_id))
  assert.equal(checkpoint.id, checkpoint_id)
  assert.equal(checkpoint.channel_values.messages.length, 10)
}

/** Nanoseconds of a put + getTuple. `threadOf` returns the thread for the number of a call. */
async function costOfSteps({ place, stint }, kind, count, threadOf) {
  const { saver, close } = await savers[kind](place.renew(), stint)
  // `costOfAsync` makes one call more.
  const made = await checkpoints(count + 1)
  const newest = new Map()
  let call = 0
  const cost = await costOfAsync(count, async () => {
    const id = threadOf(call)
    newest.set(id, await put(saver, newest.get(id) ?? thread(id), made[call++]))
    await readNewest(saver, newest.get(id))
  })
  await close()
  return cost
}

/** Writes a thread of 1,000 checkpoints, ends its writer, and opens a reader. */
async function openReader(directory, kind, stint) {
  const { saver, close } = await savers[kind](directory, stint)
  let config = thread('long')
  for (const checkpoint of await checkpoints(1000)) config = await put(saver, config, checkpoint)
  await close()
  return { ...(await savers[kind](directory, stint)), config }
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
    (call) => `thread-${call}`,
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
