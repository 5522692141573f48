import { expect, test } from 'vitest'
import type { SessionState } from '../../session/store.ts'
import { ok, warn } from './check.ts'
import { judgeLeases, judgeOrphans, judgeSessions } from './contents.ts'

test('an unreadable record fails, and the fix names its place', () => {
  const check = judgeLeases({ targets: [], unreadable: [{ key: '0123456789ab', reason: 'EACCES' }] }, '/home')
  expect(check).toMatchObject({ level: 'fail', text: expect.stringContaining('EACCES') })
  expect(check.fix).toContain('/home/locks/0123456789ab')
})

test('orphans are counted, with their size or its lower bound', () => {
  expect(judgeOrphans({ count: 0, bytes: 0, disk_bytes: 0, files: 0, partial: false }).level).toBe('ok')
  const one = { count: 1, bytes: 300, disk_bytes: 4096, files: 1, partial: true }
  expect(judgeOrphans(one)).toEqual(
    warn('orphans', 'dead runs have left 1 entry, at least 4.0 KiB', 'stint sweep'),
  )
  expect(judgeOrphans({ ...one, disk_bytes: 1 << 20 }).text).toMatch(/at least 1\.0 MiB for 300 B of data$/)
})

const sessions = (...states: SessionState[]) => states.map((state, index) => ({ id: `ses_${index}`, state }))

test('damaged and locked sessions each get a check with a fix; crashed ones need nothing', () => {
  expect(judgeSessions(sessions('closed', 'active'))).toEqual([ok('sessions', '2 sessions')])
  const found = judgeSessions(sessions('crashed', 'locked', 'damaged', 'damaged', 'closed'))
  expect(found.map(({ level, text }) => [level, text.slice(0, 9)])).toEqual([
    ['fail', '2 damaged'],
    ['warn', '1 held by'],
  ])
  expect(found.map(({ fix }) => fix)).toEqual([
    'stint sessions repair ses_2',
    expect.stringContaining('stint sessions unlock ses_1'),
  ])
  expect(judgeSessions(sessions('crashed', 'crashed', 'closed'))).toEqual([
    ok('sessions', '3 sessions, 2 of them left open by a process that died'),
  ])
  const [many] = judgeSessions(sessions('damaged', 'damaged', 'damaged', 'damaged'))
  expect(many?.text).toBe('4 damaged: ses_0, ses_1, ses_2 and others')
})
