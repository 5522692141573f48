import type { ConformanceCase, StoreCases, StorePlace } from './conformance-case.ts'
import { eventCases } from './store-conformance/event-cases.ts'
import { forkCases } from './store-conformance/fork-cases.ts'
import { lockCases } from './store-conformance/lock-cases.ts'
import { searchCases } from './store-conformance/search-cases.ts'
import { sessionCases } from './store-conformance/session-cases.ts'
import { slotCases } from './store-conformance/slot-cases.ts'
import { visitCases } from './store-conformance/visit-cases.ts'

/** What a driver decides. What stint does above every driver is no case: it is the same for all. */
export const driverCases: StoreCases = {
  ...sessionCases,
  ...eventCases,
  ...searchCases,
  ...slotCases,
  ...forkCases,
  ...visitCases,
  ...lockCases,
}

/**
 * The cases that every session store must pass. `makePlace` is called once for each case and returns an empty
 * set of sessions.
 *
 * @example
 * for (const { title, run } of storeConformance(() => myPlace())) test(title, run)
 */
export const storeConformance = (makePlace: () => StorePlace | Promise<StorePlace>): ConformanceCase[] =>
  casesOf(driverCases, makePlace)

/** @internal */
export const casesOf = (
  cases: StoreCases,
  makePlace: () => StorePlace | Promise<StorePlace>,
): ConformanceCase[] =>
  Object.entries(cases).map(([title, run]) => ({
    title,
    async run() {
      const place = await makePlace()
      await run(await place.open(), place)
    },
  }))
