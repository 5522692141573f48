import type { ConformanceCase, StoreCases, StorePlace } from './conformance-case.ts'
import { actCases } from './store-conformance/act-cases.ts'
import { eventCases } from './store-conformance/event-cases.ts'
import { forkCases } from './store-conformance/fork-cases.ts'
import { holdCases } from './store-conformance/hold-cases.ts'
import { lockCases } from './store-conformance/lock-cases.ts'
import { nameCases } from './store-conformance/name-cases.ts'
import { searchCases } from './store-conformance/search-cases.ts'
import { secretCases } from './store-conformance/secret-cases.ts'
import { sessionCases } from './store-conformance/session-cases.ts'
import { slotCases } from './store-conformance/slot-cases.ts'
import { visitCases } from './store-conformance/visit-cases.ts'

/**
 * The cases that every session store must pass. `makePlace` is called once for each case and returns an empty
 * set of sessions.
 *
 * @example
 * for (const { title, run } of storeConformance(() => myPlace())) test(title, run)
 */
export function storeConformance(makePlace: () => StorePlace | Promise<StorePlace>): ConformanceCase[] {
  const cases: StoreCases = {
    ...sessionCases,
    ...nameCases,
    ...eventCases,
    ...searchCases,
    ...slotCases,
    ...actCases,
    ...secretCases,
    ...forkCases,
    ...visitCases,
    ...lockCases,
    ...holdCases,
  }
  return Object.entries(cases).map(([title, run]) => ({
    title,
    async run() {
      const place = await makePlace()
      await run(await place.open(), place)
    },
  }))
}
