import { type ConformanceCase, type OpenMedium, MediumPlace, type StoreCases } from './conformance-case.ts'
import { eventCases } from './store-conformance/event-cases.ts'
import { forkCases } from './store-conformance/fork-cases.ts'
import { lockCases } from './store-conformance/lock-cases.ts'
import { mediumCases } from './store-conformance/medium-cases.ts'
import { searchCases } from './store-conformance/search-cases.ts'
import { sessionCases } from './store-conformance/session-cases.ts'
import { slotCases } from './store-conformance/slot-cases.ts'
import { visitCases } from './store-conformance/visit-cases.ts'

/** What a medium decides. What stint does above every medium is no case: it is the same for all. */
export const driverCases: StoreCases = {
  ...mediumCases,
  ...sessionCases,
  ...eventCases,
  ...searchCases,
  ...slotCases,
  ...forkCases,
  ...visitCases,
  ...lockCases,
}

/**
 * The cases that every medium must pass. `makePlace` is called once for each case; the function that it
 * returns opens a medium on an empty set of sessions.
 *
 * @example
 * for (const { title, run } of storeConformance(() => myPlace())) test(title, run)
 */
export const storeConformance = (makePlace: () => OpenMedium | Promise<OpenMedium>): ConformanceCase[] =>
  casesOf(driverCases, makePlace)

/** @internal */
export const casesOf = (
  cases: StoreCases,
  makePlace: () => OpenMedium | Promise<OpenMedium>,
): ConformanceCase[] =>
  Object.entries(cases).map(([title, run]) => ({
    title,
    async run() {
      const place = new MediumPlace(await makePlace())
      await run(await place.open(), place)
    },
  }))
