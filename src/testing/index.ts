/**
 * The conformance suites that every register and every session store must pass, for any test runner.
 *
 * @module stint/testing
 */
export type { ConformanceCase, OpenMedium } from './conformance-case.ts'
export { registerConformance } from './register-conformance.ts'
export { storeConformance } from './store-conformance.ts'
