// An agent that takes STEPS steps, each with an effect outside. Kill it at any time and start it again: it goes on.
// node langgraph.mjs STEPS FILE
import { appendFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { Annotation, StateGraph } from '@langchain/langgraph'
import { filesystemStore } from 'stint'
import { StintSaver } from 'stint/langgraph'

const [steps, file] = process.argv.slice(2)

const State = Annotation.Root({
  done: Annotation({ reducer: (done, more) => [...done, ...more], default: () => [] }),
})

async function work({ done }) {
  const step = done.length + 1
  console.log(`step ${step}`)
  appendFileSync(file, `${step}\n`)
  await setTimeout(20)
  return { done: [step] }
}

const store = filesystemStore()
const graph = new StateGraph(State)
  .addNode('work', work)
  .addEdge('__start__', 'work')
  .addConditionalEdges('work', ({ done }) => (done.length < Number(steps) ? 'work' : '__end__'))
  .compile({ checkpointer: new StintSaver(store) })

// A step begins when the checkpoint of the one before is on disk.
const config = { configurable: { thread_id: 'work' }, durability: 'sync', recursionLimit: 10_000 }
const { next } = await graph.getState(config)
const { done } = await graph.invoke(next.length > 0 ? null : {}, config)
console.log(`done ${done.join(' ')}`)
await store.close()
