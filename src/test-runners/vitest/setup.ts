// For `setupFiles`: gives every test file its own TMPDIR, and checks what each test leaves there.
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
  // Vitest runs hooks, then fixture teardowns, then these callbacks in reverse order: this one comes last.
  onTestFinished(() => file.endTest(test, {}, console.warn))
})

afterAll(() => {
  setCurrentTestFile(undefined)
  file.close({}, console.warn)
})
