import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  // The example of a driver is written against the package: here it runs on the source.
  resolve: {
    alias: [{ find: /^stint\/(driver|testing)$/, replacement: `${import.meta.dirname}/src/$1/index.ts` }],
  },
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    pool: 'forks',
    // By default Vitest leaves a core idle: on two, that is half of the time. Most tests wait for programs that they have started.
    maxWorkers: availableParallelism() + 1,
    // A bound for what hangs, not an expectation: the machine may be busy.
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
})
