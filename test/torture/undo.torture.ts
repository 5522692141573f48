import { afterEach, expect, test, vi } from 'vitest'
import { PointWorld } from '../support/point-world.ts'
import { InterruptedUndos } from '../support/interrupted-undos.ts'
import { UndoHistory } from '../support/undo-history.ts'

afterEach(() => void vi.unstubAllEnvs())

const cases = Number(process.env.UNDO_CASES ?? 10_000)
const stepsOfHistory = 40
/** Another first seed gives other histories. */
const firstSeed = Number(process.env.UNDO_SEED ?? 100)

test(`${cases} random undos and redos give the bytes of the rule or a conflict`, async () => {
  const totals = { undone: 0, conflicts: 0 }
  const faults: string[] = []
  for (let seed = firstSeed; seed < firstSeed + cases / stepsOfHistory; seed += 1) {
    await using world = new PointWorld()
    const history = new UndoHistory(world, seed)
    for (let step = 0; step < stepsOfHistory; step += 1) {
      await history.step()
      const fault = await history.trial()
      if (fault === undefined) continue
      faults.push(`seed ${seed}, step ${step}: ${fault}`)
      break
    }
    totals.undone += history.outcomes.undone
    totals.conflicts += history.outcomes.conflicts
    console.log(`seed ${seed}`, totals, faults)
  }
  expect(faults).toEqual([])
})

test.each(['kill', 'error'] as const)(
  'an undo is interrupted at each of its calls (%s), and recovers',
  async (how) => {
    await using world = new InterruptedUndos()
    await world.prepare()
    const { length: calls } = await world.calls()
    const faults: string[] = []
    for (let at = 1; at <= calls; at += 1) {
      const recovery = at % 2 === 0 ? '--continue' : '--abort'
      const error = how === 'kill' ? 0 : at % 3
      faults.push(...(await world.fault(at, how, recovery, error)))
    }
    expect(faults).toEqual([])
  },
)
