// For `node --require stint/node-test/register --test`: Node loads it into the process that starts the test files, and into each of those.
import { beforeEach } from 'node:test'
import { errorMessage } from '../../base/errors/stint-error.ts'
import { closeRunRoot, openRunRoot } from '../run-root.ts'
import { setCurrentTestFile, TestFile } from '../test-file.ts'
import type { TestContextLike } from './index.ts'

const isRunner = process.execArgv.includes('--test') && process.env.NODE_TEST_CONTEXT === undefined

/** No hook is left to fail at the end of a process, only its exit code. */
function atExit(act: () => void): void {
  process.once('exit', () => {
    try {
      act()
    } catch (error) {
      console.error(`stint: ${errorMessage(error)}`)
      process.exitCode = 1
    }
  })
}

if (isRunner) {
  openRunRoot('node:test')
  atExit(() => closeRunRoot({}, console.warn))
} else {
  watchTests(new TestFile('node:test', process.argv[1]))
}

function watchTests(file: TestFile): void {
  setCurrentTestFile(file)
  file.watchTmpdir()
  atExit(() => file.close({}, console.warn))
  beforeEach((context) => {
    const t = context as unknown as TestContextLike
    const test = t.fullName ?? t.name
    file.beginTest(test)
    // Hooks run in the order in which they were registered: this one comes after all that the test registers itself.
    t.after(() => t.after(() => file.endTest(test, {}, (message) => t.diagnostic(message))))
  })
}
