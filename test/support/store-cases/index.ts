import type { ConformanceCase, OpenMedium } from '../../../src/testing/conformance-case.ts'
import { casesOf, driverCases } from '../../../src/testing/store-conformance.ts'
import { actCases } from './act-cases.ts'
import { holdCases } from './hold-cases.ts'
import { inputCases } from './input-cases.ts'
import { nameCases } from './name-cases.ts'
import { secretCases } from './secret-cases.ts'
import { slotCases } from './slot-cases.ts'

/** What stint does above every driver. */
const ownCases = { ...inputCases, ...nameCases, ...slotCases, ...actCases, ...secretCases, ...holdCases }

/** The conformance suite, and the cases of what is the same for every driver, to try on both of stint's. */
export const storeCases = (makePlace: () => OpenMedium | Promise<OpenMedium>): ConformanceCase[] =>
  casesOf({ ...driverCases, ...ownCases }, makePlace)
