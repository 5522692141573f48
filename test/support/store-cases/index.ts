import type { ConformanceCase, StorePlace } from '../../../src/testing/conformance-case.ts'
import { casesOf, driverCases } from '../../../src/testing/store-conformance.ts'
import { holdCases } from './hold-cases.ts'
import { inputCases } from './input-cases.ts'
import { nameCases } from './name-cases.ts'
import { secretCases } from './secret-cases.ts'

/** The conformance suite, and cases of what stint does above every driver: it is tried on both of its own. */
export const storeCases = (makePlace: () => StorePlace | Promise<StorePlace>): ConformanceCase[] =>
  casesOf({ ...driverCases, ...inputCases, ...nameCases, ...secretCases, ...holdCases }, makePlace)
