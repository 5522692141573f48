import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { World } from '../../../test/support/world.ts'
import { paintIf } from '../../command/stdio.ts'
import { hasEntries } from '../../base/fs/exists.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import type { SessionState } from '../../session/store.ts'
import { attempt } from './try-check.ts'
import { bad, countLevels, fine, poor } from './check.ts'
import { type HookHealth, judgeHooks } from './hooks.ts'
import { judgeLeases } from './leases.ts'
import { judgeOrphans } from './orphans.ts'
import { renderCheck } from './render.ts'
import { filesPrefix, judgeSessions } from './sessions.ts'
import { judgeSpace, readSpace } from './space.ts'

const mib = 2 ** 20
const gib = 2 ** 30
const space = (free: number, total: number, files = 0, ofFiles = 0) => ({
  path: '/x',
  free_bytes: free,
  total_bytes: total,
  free_files: files,
  total_files: ofFiles,
})

test.each([
  ['plenty', space(100 * gib, 200 * gib, 1e6, 2e6), 'ok'],
  ['a small file system with room', space(600 * mib, 700 * mib), 'ok'],
  ['little', space(500 * mib, 100 * gib), 'warn'],
  ['a nearly full disk', space(3 * gib, 100 * gib), 'warn'],
  ['a nearly full disk that is huge', space(50 * gib, 10_000 * gib), 'ok'],
  ['nothing', space(0, 100 * gib), 'fail'],
  ['few files', space(100 * gib, 200 * gib, 5000, 1e6), 'warn'],
  ['no files', space(100 * gib, 200 * gib, 3, 1e6), 'fail'],
  ['no size at all', space(0, 0), 'ok'],
  ['no limit on files', space(100 * gib, 200 * gib, 0, 0), 'ok'],
])('space: %s', (_, facts, level) => {
  const check = judgeSpace('temp disk', facts)
  expect(check.level).toBe(level)
  expect(check.fix === null).toBe(level === 'ok')
})

test('the space of what is not there yet is that of where it would be', async () => {
  await using world = new World()
  const { total_bytes, free_bytes, path } = readSpace(join(world.tmp, 'no/such/home'))
  expect(path).toBe(join(world.tmp, 'no/such/home'))
  expect(total_bytes).toBe(readSpace(world.tmp).total_bytes)
  expect(free_bytes).toBeGreaterThan(0)
})

const sessions = (...states: SessionState[]) => states.map((state, index) => ({ id: `ses_${index}`, state }))

test('sessions: what is damaged, held out of sight, or was left by the dead, each with what to do', () => {
  expect(judgeSessions(sessions('closed', 'active'))).toEqual([fine('sessions', '2 sessions')])
  const found = judgeSessions(sessions('crashed', 'locked', 'damaged', 'damaged', 'closed'))
  expect(found.map(({ level, text }) => [level, text.slice(0, 9)])).toEqual([
    ['fail', '2 damaged'],
    ['warn', '1 held by'],
    ['warn', '1 whose w'],
  ])
  expect(found.map(({ fix }) => fix)).toEqual([
    'stint sessions repair ses_2',
    expect.stringContaining('stint sessions unlock ses_1'),
    expect.stringContaining('stint sessions tail ses_0'),
  ])
  const [many] = judgeSessions(sessions('damaged', 'damaged', 'damaged', 'damaged'))
  expect(many?.text).toBe('4 damaged: ses_0, ses_1, ses_2 and others')
})

test('sessions: a fix works where they are kept', () => {
  const fixOf = (prefix: string, onServer: boolean) =>
    judgeSessions(sessions('damaged'), { prefix, onServer })[0]?.fix
  expect(filesPrefix({})).toBe('')
  expect(fixOf(filesPrefix({ STINT_STORE: 'postgres://db' }), false)).toBe(
    'STINT_STORE=files stint sessions repair ses_0',
  )
  expect(fixOf('', true)).toMatch(/^`stint sessions verify ses_0` shows the damage; restore/)
})

test('leases: records that cannot be read are shown where they lie', () => {
  const check = judgeLeases(
    { targets: [], unreadable: [{ key: '0123456789ab', reason: 'EACCES' }] },
    (key) => `/home/locks/${key}`,
  )
  expect(check).toMatchObject({ level: 'fail', text: expect.stringContaining('EACCES') })
  expect(check.fix).toContain('/home/locks/0123456789ab')
})

test('orphans: how much, or at least how much', () => {
  expect(judgeOrphans({ count: 0, bytes: 0, files: 0, partial: false }).level).toBe('ok')
  expect(judgeOrphans({ count: 1, bytes: 2048, files: 1, partial: true })).toEqual(
    poor('orphans', 'dead runs have left 1 entry, at least 2.0 KiB', 'stint sweep'),
  )
})

test('hooks: what does not work fails, what may not warns, and so does an agent without any', () => {
  const hook: HookHealth = {
    agent: 'claude',
    place: 'user',
    path: '/u/\x1b[2J.json',
    state: 'installed',
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
  expect(judgeHooks({ hooks: [], without: [] })).toEqual([fine('hooks', 'no agent was found here')])
})

test('what cannot be looked at is a finding with the hint of its error, and no exception', async () => {
  const coded = () => Promise.reject(new StintError('HOME_UNSAFE', 'it is a link'))
  expect(await attempt('home', coded)).toEqual({
    check: bad('home', 'it is a link', expect.stringContaining('STINT_HOME')),
  })
  const errno = () => Promise.reject(Object.assign(new Error('no'), { code: 'EACCES' }))
  expect(await attempt('home', errno)).toMatchObject({ check: { text: 'cannot look at the home: EACCES' } })
  expect(await attempt('home', () => 1)).toEqual({ found: 1 })
})

test('a check is a line with its mark, and a second one with what to do', () => {
  const plain = paintIf(false)
  expect(renderCheck(fine('clock', 'is right'), plain)).toEqual(['ok    clock         is right'])
  expect(renderCheck(bad('clock', 'is wrong', 'set it'), plain)).toEqual([
    'FAIL  clock         is wrong',
    '                    → set it',
  ])
  expect(renderCheck(poor('clock', 'is slow', 'wait'), paintIf(true))[0]).toContain('\x1b[33mwarn\x1b[39m')
  expect(countLevels([fine('a', ''), fine('b', ''), bad('c', '', '')])).toEqual({ ok: 2, warn: 0, fail: 1 })
})

test('a directory has entries, or none, or is not there, or cannot be told', async () => {
  await using world = new World()
  const directory = join(world.tmp, 'directory')
  expect(hasEntries(directory)).toBe(false)
  mkdirSync(directory)
  expect(hasEntries(directory)).toBe(false)
  symlinkSync('nowhere', join(directory, 'link'))
  expect(hasEntries(directory)).toBe(true)
  writeFileSync(join(world.tmp, 'file'), '')
  expect(hasEntries(join(world.tmp, 'file'))).toBe(true)
})
