import { expect, test } from 'vitest'
import { exampleAgents, killAgent } from './support/killed-agents.ts'

test.concurrent.each(exampleAgents)(
  'an agent of %s that is killed goes on: nothing is lost, and nothing that was recorded is done again',
  async (name) => {
    expect(await killAgent(name, 2)).toBeUndefined()
  },
)
