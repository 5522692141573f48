import type { ScratchContext } from '../../scratch/index.ts'
import { keepOf, leaksOf, type TestOptions } from '../options.ts'
import { TestFile } from '../test-file.ts'
import { type CurrentScratch, scratchKey } from './scratch-key.ts'

/** The part of jest-circus's test that is used here. */
interface JestTest {
  name: string
  parent?: { name: string; parent?: JestTest['parent'] }
  /** Whether it was declared with `test.concurrent`. */
  concurrent?: boolean
  errors: unknown[]
}

interface JestEvent {
  name: string
  test?: JestTest
}

interface JestState {
  unhandledErrors: unknown[]
}

interface JestEnvironment {
  global: object
  setup(): Promise<void>
  teardown(): Promise<void>
  handleTestEvent?(event: JestEvent, state: JestState): void | Promise<void>
}

/** The options of stint are `testEnvironmentOptions: { stint: { keep, leaks } }`. */
export interface JestProjectConfig {
  testEnvironmentOptions: { stint?: TestOptions }
}

/** The constructor that Jest calls, with its configuration and the test file. */
export type JestEnvironmentClass = new (
  config: { projectConfig: JestProjectConfig },
  context: { testPath: string; console: { log: (message: string) => void } },
) => JestEnvironment

/**
 * Makes a Jest environment in which each test has a scratch (`scratch()` of `stint/jest`), and each file a
 * `TMPDIR`.
 *
 * @example
 * import { TestEnvironment } from 'jest-environment-jsdom'
 * export default withScratch(TestEnvironment)
 */
export function withScratch(base: new (...args: never[]) => object): JestEnvironmentClass {
  const Base = base as unknown as JestEnvironmentClass
  class ScratchEnvironment extends Base {
    readonly #file: TestFile
    readonly #options: TestOptions
    readonly #say: (message: string) => void
    readonly #running = new Map<JestTest, ScratchContext>()

    constructor(...args: ConstructorParameters<JestEnvironmentClass>) {
      const [{ projectConfig }, { testPath, console }] = args
      const options = projectConfig.testEnvironmentOptions.stint ?? {}
      keepOf(options)
      leaksOf(options)
      const file = new TestFile('jest', testPath)
      // Before `super` copies the environment variables for the test file.
      file.watchTmpdir()
      super(...args)
      this.#file = file
      this.#options = options
      // Jest prints one stack line after `console.log`, and the whole stack after `console.warn`.
      this.#say = (message) => console.log(message)
      Object.assign(this.global, { [scratchKey]: () => this.#current() })
    }

    override async handleTestEvent(event: JestEvent, state: JestState): Promise<void> {
      await super.handleTestEvent?.(event, state)
      const { name, test } = event
      if (test !== undefined && name === 'test_started') this.#begin(test)
      if (test !== undefined && name === 'test_done') this.#end(test)
      if (name === 'run_finish')
        failing(state.unhandledErrors, () => this.#file.endTests(this.#options, this.#say))
    }

    override async teardown(): Promise<void> {
      await super.teardown()
      this.#file.close(this.#options, this.#say)
    }

    #current(): CurrentScratch {
      const [context] = this.#running.values()
      return [...this.#running.keys()].some(({ concurrent }) => concurrent) ? 'concurrent' : context
    }

    #begin(test: JestTest): void {
      const name = fullName(test)
      this.#running.set(test, this.#file.context(name))
      this.#file.beginTest(name)
    }

    #end(test: JestTest): void {
      const context = this.#running.get(test)
      if (context === undefined) return
      this.#running.delete(test)
      failing(test.errors, () => {
        this.#file.finish(context, test.errors.length > 0, this.#options, this.#say)
        this.#file.endTest(context.name, this.#options, this.#say)
      })
    }
  }
  return ScratchEnvironment
}

/** Adds an error to those of the test or file: thrown by an event handler, it would abort the file. */
function failing(errors: unknown[], act: () => void): void {
  try {
    act()
  } catch (error) {
    errors.push(error)
  }
}

/** The name as `describe > test`, without the outermost block, which Jest adds. */
const fullName = ({ name, parent }: Pick<JestTest, 'name' | 'parent'>): string =>
  parent?.parent === undefined ? name : `${fullName(parent)} > ${name}`
