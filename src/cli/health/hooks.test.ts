import { expect, test } from 'vitest'
import { ok } from './check.ts'
import { type HookHealth, judgeHooks } from './hooks.ts'

test('a problem of a hook fails, a note warns, and so does an agent without hooks', () => {
  const hook: HookHealth = {
    agent: 'claude',
    place: 'user',
    path: '/u/\x1b[2J.json',
    state: 'installed',
    choices: {},
    wasTried: true,
    problems: [{ problem: 'gone', fix: 'stint hook install claude' }],
    notes: [{ problem: 'not trusted', fix: 'trust it' }],
  }
  const checks = judgeHooks({
    hooks: [hook, { ...hook, problems: [], notes: [] }],
    without: ['codex', 'cursor'],
  })
  expect(checks.map(({ level }) => level)).toEqual(['fail', 'warn', 'ok', 'warn'])
  expect(checks.map(({ text }) => text).join()).not.toContain('\x1b')
  expect(checks.at(-1)).toMatchObject({
    text: expect.stringContaining('Codex, Cursor'),
    fix: 'stint hook install codex cursor',
  })
  expect(judgeHooks({ hooks: [], without: [] })).toEqual([ok('hooks', 'no agent was found here')])
})
