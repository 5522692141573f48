import { expect, test } from 'vitest'
import { StintError } from '../../base/errors/stint-error.ts'
import { paintIf } from '../../command/context.ts'
import { Examination, fail, ok, renderCheck, warn } from './check.ts'

test('a look that throws is a failed check with the hint of its error, and the examination goes on', async () => {
  const examination = new Examination()
  const coded = () => Promise.reject(new StintError('HOME_UNSAFE', 'it is a link'))
  expect(await examination.look('home', coded)).toBeUndefined()
  await examination.check('home', () => {
    throw Object.assign(new Error('no'), { code: 'EACCES' })
  })
  expect(await examination.look('temp', coded, false)).toBeUndefined()
  expect(await examination.look('temp', () => 1)).toBe(1)
  await examination.check('clock', () => [ok('clock', 'is right'), warn('clock', 'is slow', 'wait')])
  expect(examination.checks).toEqual([
    fail('home', 'it is a link', expect.stringContaining('STINT_HOME') as string),
    expect.objectContaining({ name: 'home', level: 'fail', text: 'cannot look at the home: EACCES' }),
    ok('clock', 'is right'),
    warn('clock', 'is slow', 'wait'),
  ])
})

test('a check is a line with its level, and a second one with its fix', () => {
  const plain = { columns: 80, paint: paintIf(false) }
  expect(renderCheck(ok('clock', 'is right'), plain)).toEqual(['ok    clock         is right'])
  expect(renderCheck(fail('clock', 'is wrong', 'set it'), plain)).toEqual([
    'FAIL  clock         is wrong',
    '                    → set it',
  ])
  const path = `/srv/${'deep/'.repeat(20)}end`
  expect(renderCheck(ok('home', `in ${path}, which is yours`), plain)).toEqual([
    'ok    home          in',
    '                    /srv/deep/deep/deep/deep/deep/…deep/deep/deep/deep/deep/end,',
    '                    which is yours',
  ])
  expect(renderCheck(warn('clock', 'is slow', 'wait'), { columns: 80, paint: paintIf(true) })[0]).toContain(
    '\x1b[33mwarn\x1b[39m',
  )
})
