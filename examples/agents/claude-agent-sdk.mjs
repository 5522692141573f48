// An agent that answers STEPS prompts, one after the other. Kill it at any time and start it again: it goes on.
// node claude-agent-sdk.mjs STEPS FILE
import { getSessionMessages, query } from '@anthropic-ai/claude-agent-sdk'
import { filesystemStore } from 'stint'
import { sessionStore } from 'stint/claude-agent-sdk'

const [steps, file] = process.argv.slice(2)
const sessionId = '6f0c4a3e-1d5b-4c86-9f1d-2a7b8c9d0e1f'
const store = filesystemStore()
const transcripts = sessionStore(store)

async function answers() {
  const messages = await getSessionMessages(sessionId, { sessionStore: transcripts, dir: process.cwd() })
  return messages.filter(({ type }) => type === 'assistant').map(({ message }) => message.content[0].text)
}

for (let step = (await answers()).length + 1; step <= Number(steps); step++) {
  const isNew = (await transcripts.listSessions(projectKey())).length === 0
  const options = {
    sessionStore: transcripts,
    ...(isNew ? { sessionId } : { resume: sessionId }),
    // Claude Code, unless another program stands in for it.
    pathToClaudeCodeExecutable: process.env.CLAUDE_CODE,
    env: { ...process.env, PUBLISH_TO: file },
  }
  for await (const message of query({ prompt: `publish step ${step}`, options }))
    if (message.type === 'assistant') console.log(`step ${step}`)
}
console.log(`done ${(await answers()).map((text) => text.slice('done '.length)).join(' ')}`)
await store.close()

function projectKey() {
  return process.cwd().replaceAll(/[^a-zA-Z0-9]/g, '-')
}
