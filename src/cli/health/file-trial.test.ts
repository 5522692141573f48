import { expect, test } from 'vitest'
import { judgeFiles } from './file-trial.ts'

test('a missing ability fails if it is needed, warns if it is only used, and is ignored elsewhere', () => {
  expect(judgeFiles('home', {}).level).toBe('ok')
  expect(judgeFiles('home', { link: 'EPERM' })).toMatchObject({
    level: 'fail',
    text: expect.stringContaining('hard links'),
    fix: expect.stringContaining('STINT_HOME'),
  })
  expect(judgeFiles('home', { modes: 'a private file has mode 777' }).level).toBe('warn')
  expect(judgeFiles('temp', { link: 'EPERM', sync: 'EIO' }).level).toBe('ok')
  expect(judgeFiles('temp', { modes: 'a private file has mode 777' }).level).toBe('warn')
  expect(judgeFiles('temp', { create: 'ENOSPC' }).fix).toContain('stint sweep')
})
