import { defineConfig } from 'vitest/config'

/** What takes too long for every run of the suite: `npm run torture`. */
export default defineConfig({
  test: {
    include: ['test/torture/**/*.torture.ts'],
    pool: 'forks',
    // Each explores or storms with all that the machine has.
    fileParallelism: false,
    execArgv: ['--max-old-space-size=16000'],
    // A bound for what hangs, not an expectation.
    testTimeout: 4 * 3_600_000,
    hookTimeout: 120_000,
  },
})
