import { closeRunRoot } from '../run-root.ts'
import type { JestProjectConfig } from './with-scratch.ts'

/** For `globalTeardown`: the run's scratch goes, even if workers were killed. */
export default function teardown(_: unknown, { testEnvironmentOptions }: JestProjectConfig): void {
  closeRunRoot(testEnvironmentOptions.stint ?? {}, console.warn)
}
