import { expect, test } from 'vitest'
import { until, World } from '../../../test/support/world.ts'
import { identify } from './liveness.ts'
import { geteuid } from './platform.ts'
import { listByPs, readProcessTable, startedSince, ticksNow } from './process-table.ts'

test('the table shows a process with its parent, start, user, directory and variables', async () => {
  await using world = new World()
  const before = { ticks: ticksNow(), wall: Date.now() }
  const { pid } = world.start('sleep', ['600'], { cwd: world.tmp, env: { MARK: 'of the test' } })
  await until('it is sleep', () => readProcessTable().environmentOf(pid).includes('\0MARK=of the test\0'))
  const table = readProcessTable()
  const found = table.processes.find((each) => each.pid === pid)
  expect(found).toMatchObject({ ppid: process.pid, name: 'sleep', started: identify(pid)?.started })
  expect(table.isComplete).toBe(true)
  expect(table.userOf(pid)).toBe(geteuid())
  expect(table.directoryOf(pid)).toBe(world.tmp)
  expect(found && startedSince(found, before)).toBe(true)
  expect(found && startedSince(found, { wall: before.wall })).toBe(true)
  expect(found && startedSince(found, { ticks: (found.started ?? 0) + 1, wall: before.wall })).toBe(false)
})

test('a process that has ended, and was not reaped yet, has no directory', async () => {
  await using world = new World()
  const { pid, child, finished } = world.start('sleep', ['600'], { cwd: world.tmp })
  child.kill('SIGKILL')
  // Node reaps it only in a later turn.
  while (readProcessTable().processes.some((each) => each.pid === pid && each.state !== 'Z'));
  expect(readProcessTable().directoryOf(pid)).toBe('')
  await finished
})

test('what cannot be read about a process is unknown', () => {
  const table = readProcessTable()
  expect(table.userOf(0x7ffffff0)).toBeUndefined()
  expect(table.directoryOf(0x7ffffff0)).toBe('')
  expect(table.environmentOf(0x7ffffff0)).toBe('')
})

test('ps shows the same processes as /proc, for systems without it', async () => {
  await using world = new World()
  const { pid } = world.start('sleep', ['600'])
  await until(
    'it is sleep',
    () => readProcessTable().processes.find((each) => each.pid === pid)?.name === 'sleep',
  )
  const byProc = readProcessTable().processes.find((each) => each.pid === pid)
  const byPs = listByPs()?.find((each) => each.pid === pid)
  expect(byPs).toMatchObject({ ppid: process.pid, name: 'sleep', user: geteuid(), started: null })
  expect(Math.abs((byPs?.startedAt ?? 0) - (byProc?.startedAt ?? 0))).toBeLessThan(3000)
})
