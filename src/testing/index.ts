/**
 * What every register and store must do, for any test runner.
 *
 * @module stint/testing
 */
export type { ConformanceCase } from './conformance-case.ts'
export { registerConformance } from './register-conformance.ts'
export { storeConformance } from './store-conformance.ts'
export type { StorePlace } from './store-conformance/store-case.ts'
