import { expect, test } from 'vitest'
import { type DirectoryFacts, judgeDirectory } from './directory.ts'

const directory = (mode: number, more: Partial<DirectoryFacts> = {}): DirectoryFacts => ({
  path: '/u/.stint',
  self: { mode },
  parent: { mode: 0o755, uid: 1000 },
  open: [],
  ...more,
})

test.each<[string, DirectoryFacts, string, string | null]>([
  ['private', directory(0o700), 'ok', null],
  ['missing', directory(0, { self: undefined }), 'ok', null],
  ['without a parent', directory(0, { self: undefined, parent: undefined }), 'fail', 'mkdir -p /u'],
  ['that cannot be made', directory(0, { self: undefined, obstacle: 'no' }), 'fail', 'STINT_HOME'],
  [
    'a link',
    directory(0o777, { self: { mode: 0o777, problem: 'is a symbolic link' } }),
    'fail',
    'STINT_HOME',
  ],
  ['writable by others', directory(0o770), 'fail', 'chmod 700 /u/.stint'],
  ['closed to its own user', directory(0o500), 'fail', 'chmod 700 /u/.stint'],
  ['readable by others', directory(0o755), 'warn', 'chmod 700 /u/.stint'],
  [
    'with an entry that others can read',
    directory(0o700, { open: ['locks'] }),
    'warn',
    'chmod -R go= /u/.stint',
  ],
  [
    'in a directory that any user can change',
    directory(0o700, { parent: { mode: 0o777, uid: 0 } }),
    'fail',
    'chmod +t /u',
  ],
  ['in a sticky directory', directory(0o700, { parent: { mode: 0o1777, uid: 0 } }), 'ok', null],
  [
    'in a directory of another user',
    directory(0o700, { parent: { mode: 0o755, uid: 7 } }),
    'warn',
    'STINT_HOME',
  ],
])('home: %s', (_, facts, level, fix) => {
  const check = judgeDirectory('home', facts, 1000)
  expect(check.level).toBe(level)
  if (fix === null) expect(check.fix).toBeNull()
  else expect(check.fix).toContain(fix)
})

test('a fix can be pasted into a shell, whatever the path', () => {
  const { fix } = judgeDirectory('home', directory(0o770, { path: "/u/my home/it's" }), 1000)
  expect(fix).toBe(String.raw`chmod 700 '/u/my home/it'\''s'`)
})
