import { expect, test } from 'vitest'
import type { SessionState } from '../../session/store.ts'
import { ok } from './check.ts'
import { filesPrefix, judgeSessions } from './sessions.ts'

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

test('the fix fits the place where the sessions are kept', () => {
  const fixOf = (prefix: string, onServer: boolean) =>
    judgeSessions(sessions('damaged'), { prefix, onServer })[0]?.fix
  expect(filesPrefix({})).toBe('')
  expect(fixOf(filesPrefix({ STINT_STORE: 'postgres://db' }), false)).toBe(
    'STINT_STORE=files stint sessions repair ses_0',
  )
  expect(fixOf('', true)).toMatch(/^`stint sessions verify ses_0` shows the damage; restore/)
})
