import { expect, test } from 'vitest'
import { judgeFiles } from './file-trial.ts'
import { judgeListing } from './listing-trial.ts'

test('a missing ability fails if it is needed, warns if it is only used, and is ignored elsewhere', () => {
  expect(judgeFiles('home', {}).level).toBe('ok')
  expect(judgeFiles('home', { symlink: 'EPERM', link: 'EPERM' })).toMatchObject({
    level: 'fail',
    text: expect.stringContaining('symbolic links'),
    fix: expect.stringContaining('STINT_HOME'),
  })
  expect(judgeFiles('home', { link: 'EPERM' }).level).toBe('warn')
  expect(judgeFiles('temp', { symlink: 'EPERM', link: 'EPERM', sync: 'EIO' }).level).toBe('ok')
  expect(judgeFiles('temp', { modes: 'a private file has mode 777' }).level).toBe('warn')
  expect(judgeFiles('temp', { create: 'ENOSPC' }).fix).toContain('stint sweep')
})

test('a listing that is older than the one before fails, and one that never changes warns', () => {
  expect(judgeListing({ listings: 100, changes: 9, old: 0 }).level).toBe('ok')
  expect(judgeListing({ listings: 100, changes: 9, old: 1 })).toMatchObject({ level: 'fail' })
  expect(judgeListing({ listings: 100, changes: 0, old: 0 })).toMatchObject({ level: 'warn' })
})
