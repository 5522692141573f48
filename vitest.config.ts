import { availableParallelism, tmpdir } from 'node:os'
import { defineConfig } from 'vitest/config'
import { cleanEnvironment } from './test/support/clean-environment.ts'
import { frameworkPackages } from './test/support/framework-packages.ts'
import { SlowestFiles, SlowFirst } from './test/support/slow-files.ts'

cleanEnvironment()

export default defineConfig({
  resolve: { alias: frameworkPackages },
  test: {
    include: ['{src,test,scripts}/**/*.test.ts'],
    pool: 'forks',
    // Files share their processes: starting one for each of them would take a fifth of the time.
    isolate: false,
    globalSetup: ['src/fixtures/vitest/global-setup.ts'],
    setupFiles: ['test/support/unchanged-process.ts', 'src/fixtures/vitest/setup.ts'],
    // A test that leaves a file in its TMPDIR fails. Some worlds are open to other users: they are not in it.
    env: { STINT_TEST_LEAKS: 'fail', SUITE_TMPDIR: tmpdir() },
    // Vitest leaves a core idle by default. More workers than cores: most tests wait for processes they started.
    maxWorkers: availableParallelism() + 2,
    // A sequencer of our own would override the option, which shows that no file depends on those before it.
    sequence: process.argv.includes('--sequence.shuffle.files') ? {} : { sequencer: SlowFirst },
    reporters: ['default', new SlowestFiles()],
    // Ends a test that hangs; no test expects to be this slow, but the machine may be busy.
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
})
