import { mkdirSync, readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { dataOf, errorOf, LockWorld } from '../../../test/support/lock-world.ts'
import { Terminal } from '../../../test/support/terminal.ts'
import { type Running, until } from '../../../test/support/world.ts'

test('a free workspace, and one that the session itself holds: exit 0, and nothing is claimed', async () => {
  await using world = new LockWorld()
  const free = await world.lock(['wait'])
  expect([free.code, dataOf(free)]).toMatchObject([0, { free: true, workspace: world.workspace }])
  await world.lock(['acquire', '--session', 'mine'])
  expect(await world.lock(['wait', '--session', 'mine', '--timeout', '0s'])).toMatchObject({ code: 0 })
  const { claims } = dataOf(await world.lock(['status']))
  expect(claims).toMatchObject([{ session_id: 'mine' }])
})

test('still held after the timeout: exit 4, with the holder and how long it waited', async () => {
  await using world = new LockWorld()
  await world.lock(['acquire', '--session', 'theirs', '--path', 'src'])
  const held = await world.lock(['wait', '--timeout', '20ms'])
  expect([held.code, errorOf(held)]).toMatchObject([
    4,
    {
      code: 'LOCK_HELD',
      message: expect.stringMatching(/ is held by theirs, .* \(waited 20ms\)$/),
      suggestion: expect.stringMatching(/^Held: src, .* Wait for the holder, /),
      holder: { session_id: 'theirs' },
    },
  ])
  expect(await world.lock(['wait', '--timeout', '0s', '--path', 'docs'])).toMatchObject({ code: 0 })
  expect(dataOf(await world.lock(['status']))).toMatchObject({ waiters: [] })
})

test('it ends as soon as the holder releases, and Ctrl-C ends it before', async () => {
  await using world = new LockWorld()
  const start = () => world.startStint(['lock', 'wait', '--json'], { cwd: world.workspace })
  await world.lock(['acquire', '--session', 'theirs'])
  const [waiting, interrupted] = [start(), start()]
  await until('both watch the claim', () => [waiting, interrupted].every(isWatching))
  interrupted.child.kill('SIGINT')
  expect(await interrupted.finished).toMatchObject({ code: 130 })
  expect(waiting.child.exitCode).toBeNull()
  await world.lock(['release', '--session', 'theirs'])
  expect(await waiting.finished).toMatchObject({ code: 0 })
})

/** Has the process a watcher of files? */
function isWatching({ pid }: Running): boolean {
  const directory = `/proc/${pid}/fd`
  return readdirSync(directory).some((fd) => readLink(join(directory, fd)) === 'anon_inode:inotify')
}

function readLink(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}

test('outside of repositories, a directory is free only when those above it are, and a resource when it is released', async () => {
  await using world = new LockWorld()
  const outer = join(world.tmp, 'outer')
  const inner = join(outer, 'inner')
  mkdirSync(inner, { recursive: true })
  await world.lock(['acquire', '--session', 'theirs'], outer)
  expect(await world.lock(['wait', '--timeout', '0s'], inner)).toMatchObject({ code: 4 })
  expect(await world.lock(['wait', '--timeout', '0s'], world.home)).toMatchObject({ code: 0 })
  await world.lock(['release', '--session', 'theirs'], outer)
  expect(await world.lock(['wait', '--timeout', '0s'], inner)).toMatchObject({ code: 0 })
  await world.lock(['acquire', '--session', 'theirs', '--resource', 'deploy'])
  const wait = ['wait', '--timeout', '0s', '--resource', 'deploy']
  expect(await world.lock(wait)).toMatchObject({ code: 4 })
  await world.lock(['release', '--session', 'theirs', '--resource', 'deploy'])
  expect(await world.lock(wait)).toMatchObject({ code: 0 })
})

test('on a terminal it names the session that it waits for', async () => {
  await using world = new LockWorld()
  await using terminal = await Terminal.open(world)
  await world.lock(['acquire', '--session', 'theirs', '--purpose', 'long work'])
  terminal.enter(`cd ${world.workspace}; clear; stint lock wait`)
  await terminal.shows(/^stint: waiting for theirs,[^]*"long\s+work"/m)
  await world.lock(['release', '--session', 'theirs'])
  await terminal.shows(/ is free, after .*\n\[0\] ready>$/)
  expect(dataOf(await world.lock(['status']))).toMatchObject({ claims: [] })
})
