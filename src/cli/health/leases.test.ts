import { expect, test } from 'vitest'
import { judgeLeases } from './leases.ts'

test('an unreadable record fails, and the fix names its place', () => {
  const check = judgeLeases(
    { targets: [], unreadable: [{ key: '0123456789ab', reason: 'EACCES' }] },
    (key) => `/home/locks/${key}`,
  )
  expect(check).toMatchObject({ level: 'fail', text: expect.stringContaining('EACCES') })
  expect(check.fix).toContain('/home/locks/0123456789ab')
})
