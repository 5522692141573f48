import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isRunning, type Running, stintBin, until, World } from '../../../test/support/world.ts'

/** A child with a grandchild and a daemon. Each writes its pid to a file; `stubborn` ones ignore SIGTERM. */
function family(world: World, stubborn: boolean): string[] {
  const ignore = stubborn ? `trap '' TERM INT HUP;` : ''
  const member = `${ignore} echo $$ >> "$0"; while :; do sleep 0.05; done`
  const script = [
    `sh -c '${member.replaceAll("'", `'\\''`)}' "$0" &`,
    `setsid sh -c '${member.replaceAll("'", `'\\''`)}' "$0" &`,
    member,
  ].join('\n')
  return ['sh', '-c', script, join(world.tmp, 'pids')]
}

const familyPids = (world: World): number[] => {
  const path = join(world.tmp, 'pids')
  return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n').map(Number) : []
}

async function startFamily(world: World, flags: string[], stubborn = false): Promise<Running> {
  const running = world.startStint(['run', ...flags, '--', ...family(world, stubborn)])
  await until('all three processes are up', () => familyPids(world).length === 3)
  return running
}

const survivors = (world: World): number[] => familyPids(world).filter(isRunning)

test.each([
  ['SIGTERM', 143],
  ['SIGINT', 130],
  ['SIGHUP', 129],
] as const)('%s ends the run with exit %i, one envelope, no process and no scratch', async (signal, exit) => {
  await using world = new World()
  const running = await startFamily(world, ['--json'])
  running.child.kill(signal)
  const result = await running.finished
  expect(result.code).toBe(exit)
  expect(result.envelope()).toMatchObject({
    ok: false,
    data: null,
    error: { code: 'CANCELLED', signal },
    meta: { partial: true },
  })
  expect(survivors(world)).toEqual([])
  expect(world.leftovers()).toEqual([])
})

test('a timeout ends the run with exit 10, one envelope, no process and no scratch', async () => {
  await using world = new World()
  const running = await startFamily(world, ['--json', '--timeout', '1s'])
  const result = await running.finished
  expect(result.code).toBe(10)
  expect(result.envelope()).toMatchObject({
    error: { code: 'TIMEOUT', timeout_ms: 1000 },
    meta: { partial: true },
  })
  expect(survivors(world)).toEqual([])
  expect(world.leftovers()).toEqual([])
})

test('a timeout that is too long for a timer does not fire at once', async () => {
  await using world = new World()
  expect((await world.stint(['run', '--timeout', '90d', '--', 'sleep', '0.1'])).code).toBe(0)
})

test('processes that ignore SIGTERM are killed after the grace', async () => {
  await using world = new World()
  const running = await startFamily(world, ['--json', '--grace', '300ms'], true)
  running.child.kill('SIGTERM')
  const result = await running.finished
  expect(result.code).toBe(143)
  expect(result.envelope().error?.code).toBe('CANCELLED')
  expect(survivors(world)).toEqual([])
  expect(world.leftovers()).toEqual([])
})

test('a stopped child is continued, so that it handles the signal that ends it', async () => {
  await using world = new World()
  const running = await startFamily(world, ['--json', '--grace', '60s'])
  for (const pid of familyPids(world)) process.kill(pid, 'SIGSTOP')
  running.child.kill('SIGTERM')
  expect((await running.finished).code).toBe(143)
  expect(survivors(world)).toEqual([])
})

test('a second SIGTERM changes nothing, and there is still one envelope', async () => {
  await using world = new World()
  const script = `trap 'echo heard >&2' TERM; echo up >&2; while :; do sleep 0.01; done`
  const running = world.startStint(['run', '--json', '--grace', '700ms', '--', 'sh', '-c', script])
  await until('it is up', () => running.output().stderr.includes('up'))
  running.child.kill('SIGTERM')
  await until('the first signal is being handled', () => running.output().stderr.includes('heard'))
  running.child.kill('SIGTERM')
  running.child.kill('SIGHUP')
  const result = await running.finished
  expect(result.code).toBe(143)
  expect(result.envelope().error).toMatchObject({ code: 'CANCELLED', signal: 'SIGTERM' })
  expect(result.stderr.match(/heard/g)).toHaveLength(1)
})

test('a second SIGINT ends the run at once, with one envelope and no scratch in the root', async () => {
  await using world = new World()
  const running = await startFamily(world, ['--json', '--grace', '10m'], true)
  const twice = setInterval(() => running.child.kill('SIGINT'), 50)
  const result = await running.finished
  clearInterval(twice)
  expect(result.code).toBe(130)
  expect(result.envelope().error).toMatchObject({ code: 'CANCELLED', signal: 'SIGINT' })
  expect(world.leftovers()).toEqual([])
  await until('all processes are gone', () => survivors(world).length === 0)
})

test('without a terminal, SIGQUIT, SIGUSR1 and SIGUSR2 are passed on to the program', async () => {
  await using world = new World()
  const script = `trap 'echo quit' QUIT; trap 'echo one' USR1; trap 'echo two; exit 5' USR2; echo up; while :; do sleep 0.01; done`
  const running = world.startStint(['run', '--', 'sh', '-c', script])
  const says = (text: string) => until(text, () => running.output().stdout.includes(text))
  await says('up')
  running.child.kill('SIGQUIT')
  await says('quit')
  running.child.kill('SIGUSR1')
  await says('one')
  running.child.kill('SIGUSR2')
  expect((await running.finished).code).toBe(5)
})

test('after SIGKILL of stint, the guard ends all its processes and removes the scratch', async () => {
  await using world = new World()
  const running = await startFamily(world, [])
  expect(world.leftovers()).toHaveLength(1)
  running.child.kill('SIGKILL')
  await running.finished
  await until(
    'family and scratch are gone',
    () => survivors(world).length === 0 && world.leftovers().length === 0,
  )
  await until('the trash is empty', () =>
    readdirSync(join(world.root, 'trash')).every((name) => name === '.swept'),
  )
})

test('after SIGKILL of stint, the guard kills processes that ignore SIGTERM', async () => {
  await using world = new World()
  const running = await startFamily(world, [], true)
  running.child.kill('SIGKILL')
  await until(
    'family and scratch are gone',
    () => survivors(world).length === 0 && world.leftovers().length === 0,
  )
})

test('SIGKILL of an outer run ends the inner run, and both scratches are removed', async () => {
  await using world = new World()
  const running = world.startStint([
    'run',
    '--',
    process.execPath,
    stintBin,
    'run',
    '--',
    ...family(world, false),
  ])
  await until('all three processes are up', () => familyPids(world).length === 3)
  expect(world.leftovers()).toHaveLength(2)
  running.child.kill('SIGKILL')
  await until('everything is gone', () => survivors(world).length === 0 && world.leftovers().length === 0)
})

test('the guard inherits nothing from the caller: a pipe from the run closes when the program ends', async () => {
  await using world = new World()
  const pipeline = `"$0" "$1" run -- sh -c 'echo done' | cat; echo pipe closed`
  const { stdout } = await world.start('sh', ['-c', pipeline, process.execPath, stintBin]).finished
  expect(stdout).toBe('done\npipe closed\n')
})

test('the guard lives no longer than the run', async () => {
  await using world = new World()
  const running = world.startStint(['run', '--', 'sh', '-c', 'echo "$STINT_REQUEST_ID"; cat'], { input: '' })
  const { stdout } = await running.finished
  const mark = `STINT_GUARD=${stdout.trim()}`
  const guards = () =>
    readdirSync('/proc').filter((pid) => {
      try {
        return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/environ`, 'utf8').includes(mark)
      } catch {
        return false
      }
    })
  await until('no guard is left', () => guards().length === 0)
})

test('SIGKILL with --keep on-failure keeps the scratch', async () => {
  await using world = new World()
  const running = await startFamily(world, ['--keep', 'on-failure'])
  running.child.kill('SIGKILL')
  await until('all processes are gone', () => survivors(world).length === 0)
  await world.stint(['sweep'])
  expect(world.leftovers()).toHaveLength(1)
})

test('after SIGKILL with --no-guard, the children go on, and a sweep removes the scratch when they are dead', async () => {
  await using world = new World()
  const running = await startFamily(world, ['--no-guard'])
  running.child.kill('SIGKILL')
  await until('stint is dead', () => !isRunning(running.pid))
  const sweep = async () => (await world.stint(['sweep', '--json'])).envelope().data
  expect(await sweep()).toMatchObject({ removed: [], kept: [{ reason: 'child-alive' }] })
  expect(survivors(world)).toHaveLength(3)
  for (const pid of familyPids(world)) process.kill(pid, 'SIGKILL')
  await until('they are dead', () => survivors(world).length === 0)
  expect(await sweep()).toMatchObject({ removed: [{ reason: 'owner-dead' }], kept: [] })
  expect(world.leftovers()).toEqual([])
})
