import { defineConfig } from 'vitest/config'
import { cleanEnvironment } from './test/support/clean-environment.ts'

cleanEnvironment()

/** `npm run agents`: scenes with the real agents. */
export default defineConfig({
  test: {
    include: ['test/agents/**/*.agents.ts'],
    pool: 'forks',
    // Most of a scene is waiting.
    maxConcurrency: 3,
    sequence: { concurrent: true },
    // Ends a scene that hangs.
    testTimeout: 180_000,
    hookTimeout: 120_000,
  },
})
