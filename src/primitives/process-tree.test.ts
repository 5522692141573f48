import { expect, test } from 'vitest'
import { isRunning, until, World } from '../../test/support/world.ts'
import { identify, ownIdentity } from './liveness.ts'
import { descendants, processesOf, signalProcess } from './process-tree.ts'

const at = (pid: number, ppid: number, state = 'S', threads = 1) => ({
  pid,
  ppid,
  name: 'sh',
  state,
  threads,
  started: pid * 10,
})

test('descendants by parent link and by mark, never ourselves, never what is over', () => {
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
    descendants(table, roots, (pid) => marked.includes(pid)).map(({ pid }) => pid)
  expect(pids([root], [])).toEqual([10, 11, 12, 14])
  expect(pids([root], [21])).toEqual([10, 11, 12, 14, 21])
  expect(pids([{ ...root, started: 99 }], [])).toEqual([])
})

test('a process that has left its parent is found by its environment, and one without a mark is not', async () => {
  await using world = new World()
  const mark = `STINT_REQUEST_ID=req_${'0'.repeat(26)}`
  const script = `echo root; env ${mark} setsid sh -c 'echo $$; exec sleep 300' & env ${mark} STINT_GUARD=x sleep 301 & setsid sleep 302 & exit`
  const parent = world.start('sh', ['-c', `${script.replace('& exit', '& sleep 0.2; exec cat')}`], {
    stdio: ['pipe', 'pipe', 'pipe'],
    input: undefined,
  })
  const root = identify(parent.pid)
  await until('the daemon has said its pid', () => /root\n\d+\n/.test(parent.output().stdout))
  const daemon = Number(/root\n(\d+)\n/.exec(parent.output().stdout)?.[1])
  const older = root === undefined ? [] : [{ ...root, started: 0 }]
  await until('it is found', () => processesOf(older, mark).some(({ pid }) => pid === daemon))
  expect(processesOf(older, mark).map(({ pid }) => pid)).toEqual([daemon])
})

test('a signal goes only to the process that was found', async () => {
  await using world = new World()
  const child = world.start('sleep', ['300'])
  const started = identify(child.pid)?.started ?? 0
  signalProcess({ pid: child.pid, started: started + 1 }, 'SIGKILL')
  expect(isRunning(child.pid)).toBe(true)
  signalProcess({ pid: child.pid, started }, 'SIGKILL')
  expect((await child.finished).signal).toBe('SIGKILL')
})
