import { defineConfig } from 'vitest/config'
import { cleanEnvironment } from './test/support/clean-environment.ts'
import { frameworkPackages } from './test/support/framework-packages.ts'

cleanEnvironment()

/** `npm run torture`: the tests that take too long for every run of the suite. */
export default defineConfig({
  resolve: { alias: frameworkPackages },
  test: {
    include: ['test/torture/**/*.torture.ts'],
    pool: 'forks',
    // Each test uses the whole machine.
    fileParallelism: false,
    execArgv: ['--max-old-space-size=16000'],
    // Ends a test that hangs.
    testTimeout: 4 * 3_600_000,
    hookTimeout: 120_000,
  },
})
