import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isRunning, until, World } from '../../test/support/world.ts'
import { identify } from '../base/process/liveness.ts'
import { guardScript } from './guard.ts'

const mark = `STINT_REQUEST_ID=req_${'0'.repeat(26)}`

/** Runs the guard alone, as if its run had written these lines and died. */
function guard(world: World, lines: string, shell: string[] = ['sh']) {
  const scratch = join(world.tmp, 'scratch')
  const [command = '', ...flags] = shell
  const args = [
    ...flags,
    '-c',
    guardScript,
    'stint-guard',
    scratch,
    join(world.tmp, 'trash'),
    mark,
    scratch,
    join(world.tmp, 'tracked'),
  ]
  return world.start(command, args, { input: lines, env: { STINT_GUARD: 'test' } }).finished
}

const startedOf = (pid: number): number => identify(pid)?.started ?? 0

test('the guard ends the recorded process, but not a new one with the same pid', async () => {
  await using world = new World()
  const child = world.start('sleep', ['300'])
  await guard(world, `child ${child.pid} ${startedOf(child.pid) - 1}\n`)
  expect(isRunning(child.pid)).toBe(true)
  await guard(world, `child ${child.pid} ${startedOf(child.pid)}\n`)
  await until('it is gone', () => !isRunning(child.pid))
})

test.each([['sh'], ['bash', '--posix']])(
  'under %s, a process name with a newline neither stops the guard nor misleads it',
  async (...shell) => {
    await using world = new World()
    const victim = world.start('sleep', ['300'])
    const name = `"\\n/proc/${victim.pid}/stat:${victim.pid} ("`
    const script = `open('/proc/self/comm', 'w').write(${name}[:15]); import time; print('up', flush=True); time.sleep(300)`
    const child = world.start('python3', ['-c', script])
    await until('it has its name', () => child.output().stdout === 'up\n')
    mkdirSync(join(world.tmp, 'scratch'))
    await guard(world, `child ${child.pid} ${startedOf(child.pid)}\n`, shell)
    await until('the child is gone', () => !isRunning(child.pid))
    expect(isRunning(victim.pid)).toBe(true)
    expect(existsSync(join(world.tmp, 'scratch'))).toBe(false)
  },
)

test('descendants of the child and marked processes are ended, but no guard', async () => {
  await using world = new World()
  const child = world.start('sh', ['-c', 'sleep 300 & echo $!; wait'])
  const marked = world.start('env', [mark, 'setsid', 'sleep', '300'])
  const other = world.start('env', ['STINT_GUARD=other', mark, 'sleep', '300'])
  await until('the grandchild is up', () => child.output().stdout.endsWith('\n'))
  await guard(world, `child ${child.pid} ${startedOf(child.pid)}\n`)
  const grandchild = Number(child.output().stdout)
  await until('they are gone', () => ![child.pid, grandchild, marked.pid].some(isRunning))
  expect(isRunning(other.pid)).toBe(true)
})

test('`clean` spares the processes, `keep` spares the scratch, and a scratch with tracked paths is left to the sweep', async () => {
  await using world = new World()
  const scratch = join(world.tmp, 'scratch')
  mkdirSync(scratch)
  const child = world.start('sleep', ['300'])
  await guard(world, `child ${child.pid} ${startedOf(child.pid)}\nkeep\nclean\n`)
  expect([isRunning(child.pid), existsSync(scratch)]).toEqual([true, true])
  writeFileSync(join(world.tmp, 'tracked'), '')
  await guard(world, 'clean\n')
  expect(existsSync(scratch)).toBe(true)
})

test('a scratch without permissions is made writable and removed', async () => {
  await using world = new World()
  mkdirSync(join(world.tmp, 'scratch/a/b'), { recursive: true })
  await world.start('chmod', ['-R', '500', join(world.tmp, 'scratch')]).finished
  await guard(world, 'clean\n')
  expect([existsSync(join(world.tmp, 'scratch')), existsSync(join(world.tmp, 'trash'))]).toEqual([
    false,
    false,
  ])
})
