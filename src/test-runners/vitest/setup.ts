// For `setupFiles`: a TMPDIR of its own for every test file, and a look at what each test leaves there.
import { afterAll, beforeEach } from 'vitest'
import { setCurrentTestFile, TestFile } from '../test-file.ts'
import { fullName } from './full-name.ts'

const file = new TestFile('vitest')
setCurrentTestFile(file)
file.watchTmpdir()

beforeEach(({ task, onTestFinished }) => {
  const test = fullName(task)
  file.name = task.file.name
  file.beginTest(test)
  // Hooks first, fixtures after them, and last what was registered first: everybody has cleaned up by then.
  onTestFinished(() => file.endTest(test, {}, console.warn))
})

afterAll(() => {
  setCurrentTestFile(undefined)
  file.close({}, console.warn)
})
