import { expect, test } from 'vitest'
import { ownIdentity } from '../base/process/liveness.ts'
import { runSync } from '../base/process/run-generator.ts'
import { memoryRegister } from './register.ts'
import { StoredClaims } from './stored-claims.ts'

test('each decision looks at a process once, however often its rules ask', () => {
  const register = memoryRegister()
  let looks = 0
  const look = () => {
    looks += 1
    return 'alive' as const
  }
  const stored = new StoredClaims(register, { key: 'k', name: 'n' }, look)
  const decide = () =>
    runSync(
      register,
      stored.change((_record, { liveness }) => ({
        answer: [ownIdentity(), ownIdentity(), { ...ownIdentity(), pid: 1 }].map((each) => liveness(each)),
      })),
    )
  expect(decide().answer).toEqual(['alive', 'alive', 'alive'])
  expect(looks).toBe(2)
  decide()
  expect(looks).toBe(4)
})
