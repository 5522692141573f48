import { closeRunRoot } from '../run-root.ts'
import type { JestProjectConfig } from './with-scratch.ts'

/** For `globalTeardown`: removes the scratch of the run, even if workers were killed. */
export default function teardown(_: unknown, { testEnvironmentOptions }: JestProjectConfig): void {
  closeRunRoot(testEnvironmentOptions.stint ?? {}, console.warn)
}
