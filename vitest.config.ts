import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    pool: 'forks',
    // By default one core is left idle; most tests wait for processes, so that would double the time on two.
    maxWorkers: '100%',
    // Vitest would leave one core to itself; it needs none while the tests run, and most of them wait for programs they have started.
    maxWorkers: availableParallelism() + 1,
    // A bound for what hangs, not an expectation: the machine may be busy.
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
})
