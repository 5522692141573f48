import { expect, test } from 'vitest'
import { errorTable } from './error-table.ts'
import { StintError } from './stint-error.ts'

test('a code of the program brings its own hint and exit code, and has no advice of ours without them', () => {
  const own = new StintError('NO_FILES', 'nothing to pack', { exit: 4, hint: 'Name some.', retryable: true })
  expect(own).toMatchObject({ code: 'NO_FILES', exit: 4, hint: 'Name some.', retryable: true })
  expect(new StintError('NO_FILES', '')).toMatchObject({
    code: 'NO_FILES',
    exit: 1,
    hint: '',
    retryable: false,
  })
})

test('in plain JavaScript, a code or an exit code that is none does not break the envelope', () => {
  for (const code of ['no files', '', 7, undefined, 'toString'])
    expect(new StintError(code as string, '')).toMatchObject({ code: 'UNEXPECTED', exit: 1 })
  for (const exit of [0, 256, -1, 1.5, Number.NaN, '3' as never])
    expect(new StintError('NOT_FOUND', '', { exit }).exit).toBe(5)
})

test('no error of the library advises --help: only a command line has it', () => {
  for (const [code, { hint }] of Object.entries(errorTable)) expect(hint, code).not.toContain('--help')
})
