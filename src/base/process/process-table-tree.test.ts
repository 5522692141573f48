import { expect, test } from 'vitest'
import { deadPid } from '../../../test/support/plant.ts'
import { isRunning, World } from '../../../test/support/world.ts'
import { identify, ownIdentity } from './liveness.ts'
import { descendants, processesOf, signalProcess } from './process-table.ts'

const at = (pid: number, ppid: number, state = 'S', threads = 1) => ({
  pid,
  ppid,
  name: 'sh',
  state,
  threads,
  started: pid * 10,
})

test('descendants are found by parent pid and by mark, without this process and without zombies', () => {
  const table = [
    at(1, 0),
    at(10, 1),
    at(11, 10),
    at(12, 11),
    at(13, 12, 'Z'),
    at(14, 12, 'Z', 2),
    at(20, 1),
    at(21, 20),
    at(process.pid, 10),
  ]
  const root = { ...ownIdentity(), pid: 10, started: 100 }
  const pids = (roots: (typeof root)[], marked: number[]) =>
    descendants(table, roots, ({ pid }) => marked.includes(pid)).map(({ pid }) => pid)
  expect(pids([root], [])).toEqual([10, 11, 12, 14])
  expect(pids([root], [21])).toEqual([10, 11, 12, 14, 21])
  expect(pids([{ ...root, started: 99 }], [])).toEqual([])
})

test('a cycle of parents, as a reused pid can cause one, does not loop forever', () => {
  const root = { ...ownIdentity(), pid: 99, started: 990 }
  expect(descendants([at(1, 2), at(2, 1)], [root], () => false)).toEqual([])
})

test('a daemon is found by the mark in its environment; an unmarked process or a guard is not', async () => {
  await using world = new World()
  const id = `req_${'0'.repeat(26)}`
  const start = (env: NodeJS.ProcessEnv): number => world.start('sleep', ['300'], { env }).pid
  const marked = start({ STINT_REQUEST_ID: id })
  start({ STINT_REQUEST_ID: id, STINT_GUARD: 'x' })
  start({ STINT_REQUEST_ID: `${id}0` })
  const gone = { ...ownIdentity(), pid: deadPid, started: 0 }
  expect(processesOf([gone], `STINT_REQUEST_ID=${id}`).map(({ pid }) => pid)).toEqual([marked])
})

test('a process whose pid was reused is not signalled', async () => {
  await using world = new World()
  const child = world.start('sleep', ['300'])
  const started = identify(child.pid)?.started ?? 0
  signalProcess({ pid: child.pid, started: started + 1 }, 'SIGKILL')
  expect(isRunning(child.pid)).toBe(true)
  signalProcess({ pid: child.pid, started }, 'SIGKILL')
  expect((await child.finished).signal).toBe('SIGKILL')
})
