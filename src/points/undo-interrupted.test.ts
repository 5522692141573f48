import { expect, test } from 'vitest'
import { InterruptedUndos } from '../../test/support/interrupted-undos.ts'

test('an undo that is killed, or whose calls fail, leaves no file torn, and is finished or taken back', async () => {
  await using world = new InterruptedUndos()
  await world.prepare()
  const calls = await world.countCalls()
  expect(calls).toBeGreaterThan(100)
  const faults: string[] = []
  for (let at = 1; at <= calls; at += 37)
    faults.push(
      ...(await world.fault(at, at % 2 === 0 ? 'kill' : 'error', at % 4 < 2 ? '--continue' : '--abort')),
    )
  expect(faults).toEqual([])
})
