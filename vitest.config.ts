import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    pool: 'forks',
    // A bound for what hangs, not an expectation: the machine may be busy.
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
})
