import { defineConfig } from 'vitest/config'
import { cleanEnvironment } from './test/support/clean-environment.ts'

cleanEnvironment()

/** `npm run test:ui`: the page in a real Chromium. */
export default defineConfig({
  test: {
    include: ['test/ui/**/*.ui.ts'],
    pool: 'forks',
    // A browser uses more than one core.
    fileParallelism: false,
    // Ends a test that hangs.
    testTimeout: 300_000,
    hookTimeout: 120_000,
    // A busy machine needs longer for a page than the usual second.
    expect: { poll: { timeout: 20_000 } },
  },
})
