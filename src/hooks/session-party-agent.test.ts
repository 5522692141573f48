import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { hookBin, hookEvent, HookWorld } from '../../test/support/hook-host.ts'
import { until, World } from '../../test/support/world.ts'
import { ancestorsOf, readProcessStat } from '../base/process/platform.ts'
import { agentProcess, chooseAgent } from './session-party.ts'

const ancestor = (pid: number, name: string) => ({ pid, name, ppid: 0, started: 1 })
const family = [ancestor(30, 'sh'), ancestor(20, 'node'), ancestor(10, 'bash'), ancestor(5, 'claude')]

test('the agent is the process that its host names, if that is an ancestor', () => {
  expect(chooseAgent('claude', { CLAUDE_PID: '5' }, family)?.pid).toBe(5)
  expect(chooseAgent('claude', { CLAUDE_PID: '99' }, family)?.pid).toBe(20)
  expect(chooseAgent('claude', { CLAUDE_PID: 'x' }, family)?.pid).toBe(20)
})

test('the variable of an outer Claude Code does not name another agent', () => {
  expect(chooseAgent('codex', { CLAUDE_PID: '5' }, family)?.pid).toBe(20)
})

test('an orphaned hook has no agent; an agent that is process 1 is found', () => {
  expect(chooseAgent('codex', {}, [ancestor(30, 'sh'), ancestor(1, 'systemd')])).toBeUndefined()
  expect(chooseAgent('codex', {}, [ancestor(30, 'sh'), ancestor(1, 'codex')])?.pid).toBe(1)
  expect(chooseAgent('codex', {}, [])).toBeUndefined()
  // Its shell was killed, and the first process of this machine has a name that nothing tells about.
  expect(chooseAgent('codex', {}, [ancestor(1, 'first_process')])).toBeUndefined()
  expect(chooseAgent('claude', { CLAUDE_PID: '1' }, [ancestor(1, 'node')])?.pid).toBe(1)
  expect(chooseAgent('codex', {}, [ancestor(1, 'codex')])?.pid).toBe(1)
})

test('a hook whose shell was killed works for the process that its host names, alive or dead', () => {
  for (const first of ['first_process', 'systemd']) {
    const choose = (pid: number) => chooseAgent('claude', { CLAUDE_PID: String(pid) }, [ancestor(1, first)])
    expect(choose(process.pid)).toEqual(readProcessStat(process.pid))
    expect(choose(0x7ffffff0)).toMatchObject({ pid: 0x7ffffff0, started: null })
  }
})

test('a hook whose shell was killed claims for its agent, and for a dead agent blocks no other session', async () => {
  await using world = new HookWorld()
  const fireOrphan = async (session: string, agent: number) => {
    const input = join(world.tmp, `${session}.json`)
    writeFileSync(input, JSON.stringify(hookEvent('claude', 'pre', { session, cwd: world.workspace })))
    // The shell ends at once, and process 1 adopts the hook.
    const orphan = `until read -r pid name state parent rest </proc/self/stat && [ $parent != $$ ]; do :; done; exec "$0" "$1" claude`
    const env = { CLAUDE_PID: String(agent) }
    const line = `(${orphan} <"$2" >/dev/null 2>&1) &`
    await world.start('sh', ['-c', line, process.execPath, hookBin, input], { env }).finished
    await until('it has claimed', () => world.claims.some(({ session_id }) => session_id === session))
  }
  await fireOrphan('dead', 0x7ffffff0)
  expect(await world.hook('claude', 'pre', { session: 'next' })).toMatchObject({ allowed: true })
  await world.hook('claude', 'stop', { session: 'next' })
  await fireOrphan('alive', process.pid)
  expect(world.claims).toMatchObject([{ session_id: 'alive', holders: [{ pid: process.pid }] }])
})

test('a process name with blanks and parentheses is read correctly', async () => {
  await using world = new World()
  // The timer keeps it alive until the world ends it: its stdin is at its end.
  const odd = 'process.title = "a) R (b"; setInterval(() => {}, 60_000)'
  const child = world.start(process.execPath, ['-e', odd])
  await until('it has its name', () => readProcessStat(child.pid)?.name === 'a) R (b')
  const [first, second] = ancestorsOf(child.pid)
  expect(first).toMatchObject({ pid: child.pid, ppid: process.pid, name: 'a) R (b' })
  expect(second?.pid).toBe(process.pid)
  expect(agentProcess('codex', {}, [first ?? ancestor(0, '')])).toMatchObject({
    pid: child.pid,
    started: readProcessStat(child.pid)?.started,
  })
})

test('the ancestors end with the first process', () => {
  expect([...ancestorsOf(process.pid)].at(-1)?.ppid).toBe(0)
  expect([...ancestorsOf(0x7ffffff0)]).toEqual([{ pid: 0x7ffffff0, ppid: 0, started: null, name: '' }])
})

test('if /proc shows another pid namespace, no process of it is taken for the agent', async () => {
  await using world = new HookWorld()
  const input = JSON.stringify(hookEvent('claude', 'pre', { cwd: world.workspace }))
  const agent = `require('node:child_process').execFileSync(process.execPath, ${JSON.stringify([hookBin, 'claude'])}, { input: ${JSON.stringify(input)} })
    console.log(process.pid)`
  const { code, stdout } = await world.unshare(['--pid', '--fork'], 'sh', [
    '-c',
    '"$0" -e "$1"; exit $?',
    process.execPath,
    agent,
  ])
  expect(code).toBe(0)
  expect(world.claims[0]?.holders).toMatchObject([{ pid: Number(stdout), started: null }])
})
