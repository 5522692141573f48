import { relative } from 'node:path'
import { BaseSequencer, type Reporter, type TestModule, type TestSpecification } from 'vitest/node'
import { projectRoot } from './world.ts'

/** Test files that take long. They start first: started last, each would run alone at the end. */
const slow = [
  'src/session/files/medium-crash.test.ts',
  'src/fixtures/vitest/vitest.test.ts',
  'src/fixtures/jest/jest.test.ts',
  'src/hooks/main.test.ts',
  'src/postgres/store/medium.test.ts',
  'src/session/commands/sessions.test.ts',
  'src/cli/health/doctor.test.ts',
  'src/hooks/commands/install-command.test.ts',
  'src/hooks/commands/install.test.ts',
  'src/cli/health/doctor-hooks.test.ts',
  'src/session/files/medium-crash-mutations.test.ts',
  'src/lease/lease-storm.test.ts',
  'src/postgres/store/medium-storm.test.ts',
]

export class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const index = slow.indexOf(relative(projectRoot, moduleId))
      return index < 0 ? slow.length : index
    }
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b))
  }
}

/** Prints the ten slowest test files at the end of a run. */
export class SlowestFiles implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const slowest = modules
      .map((module) => {
        const { collectDuration, duration } = module.diagnostic()
        return { path: module.relativeModuleId, seconds: (collectDuration + duration) / 1000 }
      })
      .sort((a, b) => b.seconds - a.seconds)
      .slice(0, 10)
    console.log('\nThe slowest files:')
    for (const { path, seconds } of slowest) console.log(`${seconds.toFixed(1).padStart(7)} s  ${path}`)
  }
}
