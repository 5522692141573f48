// For `node --require stint/node-test/register --test`. Node loads this module into the process that starts
// the test files, and into the process of each test file.
import { beforeEach } from 'node:test'
import { errorMessage } from '../../base/errors/stint-error.ts'
import { closeRunRoot, openRunRoot } from '../run-root.ts'
import { setCurrentTestFile, TestFile } from '../test-file.ts'
import type { TestContextLike } from './index.ts'

const isRunner = process.execArgv.includes('--test') && process.env.NODE_TEST_CONTEXT === undefined

/** Runs `act` when the process exits. No test can fail by then, so an error sets the exit code. */
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
    // `after` hooks run in order: one that the first of them registers comes last.
    t.after(() => t.after(() => file.endTest(test, {}, (message) => t.diagnostic(message))))
  })
}
