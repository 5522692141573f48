import { readFileSync } from 'node:fs'
import { hostname, userInfo } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { until, World } from '../../../test/support/world.ts'
import { nameInPasswd, readOrigin, terminalName, terminalOf } from './origin.ts'

test('a terminal is named by its device number', () => {
  expect([34_816, 34_819, 1_083_400, 1025, 1088, 0, 1281].map(terminalName)).toEqual([
    'pts/0',
    'pts/3',
    'pts/264',
    'tty1',
    'ttyS0',
    undefined,
    undefined,
  ])
})

test('the terminal of a process is the one that tty prints; a process without has none', async () => {
  await using world = new World()
  const socket = join(world.tmp, 'tmux')
  const inside = 'tty > tty; echo $$ > pid; exec sleep 600'
  const tmux = (...args: string[]) =>
    world.start('tmux', ['-S', socket, ...args], { cwd: world.tmp }).finished
  await tmux('-f', '/dev/null', 'new-session', '-d', 'sh', '-c', inside)
  try {
    const read = (name: string): string =>
      readFileSync(join(world.tmp, name), { encoding: 'utf8', flag: 'a+' })
    await until('it runs', () => read('pid').endsWith('\n'))
    expect(`/dev/${terminalOf(Number(read('pid')))}\n`).toBe(read('tty'))
  } finally {
    await tmux('kill-server')
  }
  expect(terminalOf(world.start('sleep', ['600']).pid)).toBeUndefined()
})

test('an origin has user, host, directory and pane; an odd pane is left out', () => {
  expect(readOrigin(process.pid, { TMUX_PANE: '%5' }, '/somewhere')).toMatchObject({
    tmux_pane: '%5',
    hostname: hostname(),
    user: userInfo().username,
    directory: '/somewhere',
  })
  expect(readOrigin(process.pid, { TMUX_PANE: '%5\u001B[31m' })).not.toHaveProperty('tmux_pane')
})

test('a user is found by its id in /etc/passwd, and not by that of another or by an entry of a network', () => {
  const passwd =
    'root:x:0:0:root:/root:/bin/sh\nann:x:1000:100::/home/ann:/bin/sh\n+bob:x:7:7:::\n1:2:3000:1:::\n'
  expect([0, 1000, 100, 7, 2, 3000].map((uid) => nameInPasswd(passwd, uid))).toEqual([
    'root',
    'ann',
    undefined,
    undefined,
    undefined,
    '1',
  ])
})
