import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { SlowestFiles, SlowFirst } from './test/support/slow-files.ts'

// Node parses these certificates at every start, for 70 ms; the tests start thousands of processes, and use no network.
delete process.env.NODE_EXTRA_CA_CERTS

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    pool: 'forks',
    // Vitest leaves a core idle by default. One worker more than cores: most tests wait for processes they started.
    maxWorkers: availableParallelism() + 1,
    sequence: { sequencer: SlowFirst },
    reporters: ['default', new SlowestFiles()],
    // Ends a test that hangs; no test expects to be this slow, but the machine may be busy.
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
})
