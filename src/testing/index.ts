export { type ConformanceCase, registerConformance } from './register-conformance.ts'
