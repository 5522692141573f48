import { expect, test } from 'vitest'
import { registerConformance } from '../testing/register-conformance.ts'
import { runSync } from '../base/process/run-generator.ts'
import { memoryRegister, type Register } from './register.ts'

test.each(registerConformance(() => memoryRegister() as Register))(
  'a register in memory: $title',
  async ({ run }) => {
    await expect(run()).resolves.toBeUndefined()
  },
)

test('a register without performSync refuses synchronous operations', () => {
  const { performSync: _, ...register } = memoryRegister()
  expect(() => runSync(register, register.keys())).toThrow(TypeError)
})
