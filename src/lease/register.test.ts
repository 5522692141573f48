import { expect, test } from 'vitest'
import { registerConformance } from '../testing/register-conformance.ts'
import { memoryStore } from './register.ts'

test.each(registerConformance(() => memoryStore().register))(
  'a register in memory: $title',
  async ({ run }) => {
    await expect(run()).resolves.toBeUndefined()
  },
)
