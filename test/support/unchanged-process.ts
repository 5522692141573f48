import { afterAll } from 'vitest'

/**
 * What one test file could leave behind for the next: test files share their processes, because starting one
 * for each of them would take a fifth of the suite's time.
 */
const stateOfProcess = (): Record<string, string | undefined> => ({
  ...process.env,
  'the current directory': process.cwd(),
  'the umask': process.umask().toString(8),
  'the exit code': String(process.exitCode),
})

const before = stateOfProcess()

afterAll(() => {
  const after = stateOfProcess()
  const names = Object.keys({ ...before, ...after })
  const changed = names.filter((name) => before[name] !== after[name])
  // Names only: a variable may contain a secret.
  if (changed.length > 0)
    throw new Error(`the tests of this file have left their process changed: ${changed.join(', ')}`)
})
