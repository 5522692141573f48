import { expect, test } from 'vitest'
import { World } from '../../test/support/world.ts'
import { identify, type Liveness, liveness, ownIdentity } from '../base/process/liveness.ts'
import { readSystemFile, withEachProcessReadOnce } from '../base/process/platform.ts'
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

test('a decision that is repeated, because another writer was faster, looks at the processes anew', async () => {
  await using world = new World()
  const { pid, child, finished } = world.start('sleep', ['300'])
  const process = identify(pid) ?? ownIdentity()
  const register = memoryRegister()
  const stored = new StoredClaims(register, { key: 'k', name: 'n' }, liveness)
  const seen: Liveness[] = []
  withEachProcessReadOnce(() =>
    runSync(
      register,
      stored.change((record, observation) => {
        seen.push(observation.liveness(process))
        if (seen.length === 1) {
          runSync(register, register.swap('k', { epoch: 0, text: undefined }, 'faster'))
          child.kill('SIGKILL')
          while (readSystemFile(`/proc/${pid}/stat`)?.includes(') Z ') === false);
        }
        return { answer: undefined, next: record }
      }),
    ),
  )
  expect(seen).toEqual(['alive', 'dead'])
  await finished
})
