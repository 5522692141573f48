import { expect, test } from 'vitest'
import { exampleAgents, killAgent } from '../support/killed-agents.ts'

test.each(exampleAgents)(
  'an agent of %s that is killed 20 times goes on: nothing is lost, and nothing that was recorded is done again',
  async (name) => {
    expect(await killAgent(name, 20)).toBeUndefined()
  },
)
