// Repeats one operation while a timer of 5 ms runs, and prints what became of both as JSON:
// node loop-worker.mjs KIND OPERATION CALLERS SECONDS DIRECTORY LIBRARY
import { join } from 'node:path'
import { appendKinds } from './append-kinds.mjs'
import { prose } from './prose.mjs'

const [kind, operation, callers, seconds, directory, library] = process.argv.slice(2)
const tickMs = 5

const data = { role: 'assistant', text: prose(140) }

/** The operations of a session that must leave the event loop free. */
async function stintOperations() {
  const { filesystemStore } = await import(library)
  const store = filesystemStore({ home: join(directory, 'home') })
  // `resume` needs a session of its own, which no other caller holds.
  const held = operation === 'resume' ? undefined : await store.create()
  const slot = held?.slot('state', { version: '1', initial: {} })
  const resting = await store.create()
  await Promise.all(Array.from({ length: 500 }, () => resting.append({ type: 'message', data })))
  await resting.close()
  return {
    create: async () => (await store.create()).close(),
    resume: async () => (await store.resume(resting.id)).close(),
    append: () => held.append({ type: 'message', data }),
    large: () => held.append({ type: 'large', data: data.text.repeat(3000) }),
    audit: () => held.audit({ action: 'look' }),
    'slot.set': () => slot.set(data),
    turn: () => held.turn(data),
    act: () => held.act({ action: 'pay' }, () => 1),
    async snapshot() {
      await held.append({ type: 'message', data })
      await held.snapshot()
    },
    fork: async () => (await store.fork(resting.id)).close(),
    visit: () => store.visit(resting.id, (visit) => visit.append({ type: 'note' })),
    async search() {
      for await (const { seq } of store.search('no such text')) throw new Error(`found in record ${seq}`)
    },
  }
}

/** Returns the operation to repeat. */
async function operationOf() {
  // The same program without a store: its callers wait on timers.
  if (kind === 'none') return () => new Promise((resolve) => setTimeout(resolve, 5))
  if (kind === 'stint') return (await stintOperations())[operation]
  const store = await appendKinds[kind](directory, library)
  return () => store.append(data)
}

const operate = await operationOf()
// The first slow sync of a process is on the event loop: from then on the disk is known to be slow.
if (operation !== 'none') await operate()

const latencies = []
const started = performance.now()
const endsAt = started + Number(seconds) * 1000
let [ticks, longest, last] = [0, 0, started]
const timer = setInterval(() => {
  const now = performance.now()
  longest = Math.max(longest, now - last)
  last = now
  ticks += 1
}, tickMs)
await Promise.all(
  Array.from({ length: Number(callers) }, async () => {
    while (performance.now() < endsAt) {
      const from = performance.now()
      await operate()
      latencies.push(performance.now() - from)
    }
  }),
)
const elapsedMs = performance.now() - started
clearInterval(timer)
latencies.sort((a, b) => a - b)
process.stdout.write(
  JSON.stringify({
    ticks,
    elapsedMs,
    longestMs: Math.max(longest, performance.now() - last),
    perSecond: (latencies.length / elapsedMs) * 1000,
    latencyMs: latencies[latencies.length >> 1],
  }),
)
process.exit()
