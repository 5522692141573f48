// An agent that answers STEPS messages, one after the other. Kill it at any time and start it again: it goes on.
// node openai-agents.mjs STEPS FILE
import { appendFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { Agent, run, setTracingDisabled, tool } from '@openai/agents-core'
import { assistantMessage, functionCall, ScriptedModel } from '@openai/agents-core/testing'
import { filesystemStore } from 'stint'
import { StintSession } from 'stint/openai-agents'
import { z } from 'zod'

const [steps, file] = process.argv.slice(2)
setTracingDisabled(true)
const store = filesystemStore()
const session = new StintSession(store, { sessionId: 'work' })

const publish = tool({
  name: 'publish',
  description: 'Publishes a step.',
  parameters: z.object({ step: z.number() }),
  async execute({ step }) {
    console.log(`step ${step}`)
    appendFileSync(file, `${step}\n`)
    await setTimeout(20)
    return `published ${step}`
  },
})

/** Stands in for a model: it calls the tool, and then says that it is done. */
const answersTo = (step) => [
  [functionCall('publish', { step }, { callId: `call-${step}` })],
  [assistantMessage(`done ${step}`)],
]

const items = await session.getItems()
// The program died before the last message was answered: it will be sent again.
const unanswered = items.length - 1 - items.findLastIndex(({ role }) => role === 'assistant')
for (let left = unanswered; left > 0; left--) await session.popItem()

for (let step = items.filter(({ role }) => role === 'assistant').length + 1; step <= Number(steps); step++) {
  const model = new ScriptedModel(answersTo(step))
  await run(new Agent({ name: 'worker', model, tools: [publish] }), `step ${step}`, { session })
}
const answers = (await session.getItems()).filter(({ role }) => role === 'assistant')
console.log(`done ${answers.map(({ content }) => content[0].text.slice('done '.length)).join(' ')}`)
await store.close()
