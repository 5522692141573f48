import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { projectRoot } from '../../../test/support/world.ts'
import type { ClaimedTarget } from '../../lease/all-claims.ts'
import type { Claim } from '../../lease/claim.ts'
import { ownIdentity } from '../../base/process/liveness.ts'
import { mountHolding } from '../../base/fs/mounts.ts'
import type { InstalledTimer } from '../../sweep/index.ts'
import { judgeClock, setBackSince } from './clock.ts'
import { type DirectoryFacts, judgeDirectory } from '../health/directory.ts'
import { judgeFiles, judgeListing } from './judge-trials.ts'
import { judgeMount } from './mount.ts'
import { checkShell, judgeIdentity, judgeNode } from './runtime.ts'
import { judgeTimer } from './timer.ts'

test.each([
  ['home', 'ext4', 'rw', 'ok'],
  ['home', 'nfs4', 'rw', 'fail'],
  ['home', 'cifs', 'rw', 'fail'],
  ['home', 'fuse.sshfs', 'rw', 'fail'],
  ['temp', 'nfs', 'rw', 'warn'],
  ['home', '9p', 'rw', 'warn'],
  ['home', 'tmpfs', 'rw', 'warn'],
  ['temp', 'tmpfs', 'rw', 'ok'],
  ['home', 'overlay', 'rw', 'warn'],
  ['temp', 'overlay', 'rw', 'ok'],
  ['temp', 'ext4', 'rw,noexec', 'warn'],
  ['home', 'ext4', 'rw,noexec', 'ok'],
  ['temp', 'ext4', 'ro', 'fail'],
] as const)('mount: %s on %s (%s): %s', (role, type, options, level) => {
  const check = judgeMount(role, { point: '/mnt', type, source: 'x', options: options.split(',') })
  expect(check.level).toBe(level)
  expect(check.fix === null).toBe(level === 'ok')
})

test('the mount that holds a path is the nearest above it, and of two at one point the last', () => {
  const mountinfo = [
    '22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw',
    '30 22 0:30 / /home rw - nfs4 server:/home rw,vers=4',
    '31 30 0:31 / /home/my\\040name ro,nosuid - tmpfs tmpfs rw',
    '32 30 0:32 / /home/my\\040name ro,noexec master:5 shared:7 - xfs /dev/sdb rw',
  ].join('\n')
  expect(mountHolding('/home/my name/x', mountinfo)).toEqual({
    point: '/home/my name',
    type: 'xfs',
    source: '/dev/sdb',
    options: ['ro', 'noexec', 'rw'],
  })
  expect(mountHolding('/home/other', mountinfo)?.type).toBe('nfs4')
  expect(mountHolding('/homeless', mountinfo)?.type).toBe('ext4')
  expect(mountHolding('/anything', '')).toBeUndefined()
  expect(mountHolding('/proc/self')?.type).toBe('proc')
})

const directory = (mode: number, more: Partial<DirectoryFacts> = {}): DirectoryFacts => ({
  path: '/u/.stint',
  self: { mode },
  parent: { mode: 0o755, uid: 1000 },
  open: [],
  ...more,
})

test.each<[string, DirectoryFacts, string, string | null]>([
  ['private', directory(0o700), 'ok', null],
  ['not there yet', directory(0, { self: undefined }), 'ok', null],
  ['nowhere to be', directory(0, { self: undefined, parent: undefined }), 'fail', 'mkdir -p /u'],
  ['where it cannot be made', directory(0, { self: undefined, obstacle: 'no' }), 'fail', 'STINT_HOME'],
  [
    'a link',
    directory(0o777, { self: { mode: 0o777, problem: 'is a symbolic link' } }),
    'fail',
    'STINT_HOME',
  ],
  ['writable by others', directory(0o770), 'fail', 'chmod 700 /u/.stint'],
  ['closed to oneself', directory(0o500), 'fail', 'chmod 700 /u/.stint'],
  ['readable by others', directory(0o755), 'warn', 'chmod 700 /u/.stint'],
  ['with something open in it', directory(0o700, { open: ['locks'] }), 'warn', 'chmod -R go= /u/.stint'],
  [
    'below what anybody can change',
    directory(0o700, { parent: { mode: 0o777, uid: 0 } }),
    'fail',
    'chmod +t /u',
  ],
  ['below a sticky one', directory(0o700, { parent: { mode: 0o1777, uid: 0 } }), 'ok', null],
  [
    'below what is another user’s',
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

test('what a file system cannot do: fatal for what is needed, a warning for the rest, and only where it is used', () => {
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

test('a listing must never be older than the one before, and must show something', () => {
  expect(judgeListing({ listings: 100, changes: 9, old: 0 }).level).toBe('ok')
  expect(judgeListing({ listings: 100, changes: 9, old: 1 })).toMatchObject({ level: 'fail' })
  expect(judgeListing({ listings: 100, changes: 0, old: 0 })).toMatchObject({ level: 'warn' })
})

const now = Date.UTC(2026, 5, 1)

test.each([
  ['right', { now, setBackMs: 0, fileTime: now - 3, newest: { path: '/h/x', at: now - 5 } }, 'ok'],
  ['before there was any stint', { now: 0, setBackMs: 0 }, 'fail'],
  ['other than the file system’s', { now, setBackMs: 0, fileTime: now + 3_600_000 }, 'warn'],
  ['set back since the start', { now, setBackMs: 7_200_000 }, 'warn'],
  ['before what was written', { now, setBackMs: 0, newest: { path: '/h/x', at: now + 60_000 } }, 'warn'],
])('clock: %s', (_, facts, level) => {
  expect(judgeClock(facts).level).toBe(level)
})

test('a claim of this boot shows how far the clock was set back; a machine that slept shows nothing', () => {
  const clock = 'boot'
  const target = (wall: number, mono: number, of = clock): ClaimedTarget => ({
    key: '',
    workspace: '',
    claims: [{ clock: of, refreshed_at: 1_000_000, mono: 500 } as Claim],
    observation: { now: { wall, mono, clock }, liveness: () => 'alive' },
  })
  expect(setBackSince([])).toBe(0)
  expect(setBackSince([target(1_010_000, 10_500)])).toBe(0)
  expect(setBackSince([target(950_000, 10_500)])).toBe(60_000)
  expect(setBackSince([target(9_000_000, 10_500)])).toBe(0)
  expect(setBackSince([target(950_000, 10_500, 'another boot')])).toBe(0)
})

test('node: the version that package.json asks for', () => {
  const { engines } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as {
    engines: { node: string }
  }
  const least = engines.node.replace('>=', '')
  expect(judgeNode(`${least}.0`).level).toBe('ok')
  expect(judgeNode('22.0.0').level).toBe('ok')
  expect(judgeNode('20.14.9')).toMatchObject({ level: 'fail', fix: expect.stringContaining(least) })
  expect(judgeNode('18.20.0').level).toBe('fail')
})

test('processes: what cannot be told apart is said', () => {
  expect(judgeIdentity(ownIdentity()).level).toBe('ok')
  for (const lack of [{ started: null }, { boot: '' }, { host: '' }])
    expect(judgeIdentity({ ...ownIdentity(), ...lack }).level).toBe('warn')
  expect(checkShell('/no/such/sh')).toMatchObject({ level: 'warn' })
})

test('the timer: none is fine; one that starts missing files, or that nothing starts, is not', () => {
  const judge = (given: Partial<InstalledTimer>) =>
    judgeTimer({ kind: 'none', systemd: true, active: false, missing: [], ...given }).level
  expect(judge({})).toBe('ok')
  expect(judge({ kind: 'systemd', active: true })).toBe('ok')
  expect(judge({ kind: 'systemd' })).toBe('fail')
  expect(judge({ kind: 'systemd', active: true, missing: ['/gone'] })).toBe('fail')
  expect(judge({ kind: 'systemd', systemd: false })).toBe('warn')
  expect(judge({ kind: 'cron' })).toBe('ok')
  expect(judge({ kind: 'cron', missing: ['/gone'] })).toBe('fail')
})
