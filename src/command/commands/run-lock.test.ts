import { existsSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { validEnvelope } from '../../../test/support/envelope.ts'
import { dataOf, errorOf, LockWorld } from '../../../test/support/lock-world.ts'
import { isRunning, stintBin, until } from '../../../test/support/world.ts'

test('run --lock holds the workspace for the program, exports the fence, and releases the lease at the end', async () => {
  await using world = new LockWorld()
  const script =
    'echo "$STINT_FENCE $STINT_SESSION_ID $STINT_WORKSPACE" > facts; until [ -e done ]; do sleep 0.01; done'
  const run = world.startStint(['run', '--lock', '--session', 'mine', '--', 'sh', '-c', script], {
    cwd: world.workspace,
  })
  const facts = join(world.workspace, 'facts')
  await until('it has the lease', () => existsSync(facts) && readFileSync(facts, 'utf8').endsWith('\n'))
  expect(readFileSync(facts, 'utf8').trim().split(' ')).toEqual([
    expect.stringMatching(/^[1-9]\d*$/),
    'mine',
    world.workspace,
  ])
  await until('its program is a holder, too', async () => {
    const [claim] = dataOf(await world.lock(['status'])).claims as { holders: unknown[] }[]
    return claim?.holders.length === 2
  })
  expect(errorOf(await world.lock(['acquire', '--session', 'other']))).toMatchObject({
    code: 'LOCK_HELD',
    holder: { session_id: 'mine', liveness: 'alive' },
  })
  writeFileSync(join(world.workspace, 'done'), '')
  expect((await run.finished).code).toBe(0)
  expect(dataOf(await world.lock(['status']))).toMatchObject({ claims: [] })
})

test('what a program under run --lock starts gets the workspace beside it, with a claim of its own', async () => {
  await using world = new LockWorld()
  const stint = `'${process.execPath}' '${stintBin}'`
  const script = `${stint} run --lock --session inner -- ${stint} lock status --json; ${stint} lock status --json`
  const run = await world.stint(['run', '--lock', '--session', 'outer', '--', 'sh', '-c', script], {
    cwd: world.workspace,
  })
  const [during, after] = run.stdout
    .trim()
    .split('\n')
    .map((line) => validEnvelope(`${line}\n`).data)
  expect(during).toMatchObject({
    claims: [
      { session_id: 'outer', parent: null },
      { session_id: 'inner', parent: 'outer' },
    ],
  })
  expect(after).toMatchObject({ claims: [{ session_id: 'outer' }] })
})

test('run --lock is refused at once or after --wait; SIGTERM releases the lease, and after SIGKILL the guard frees it', async () => {
  await using world = new LockWorld()
  const start = (...flags: string[]) =>
    world.startStint(['run', '--lock', ...flags, '--', 'sh', '-c', 'echo up; exec sleep 300'], {
      cwd: world.workspace,
    })
  const first = start('--session', 'a')
  await until('it is up', () => first.output().stdout === 'up\n')
  const refused = await world.stint(['run', '--lock', '--json', '--', 'true'], { cwd: world.workspace })
  expect([refused.code, errorOf(refused)?.code]).toEqual([4, 'LOCK_HELD'])
  const second = start('--session', 'b', '--wait', '60s')
  first.child.kill('SIGTERM')
  expect((await first.finished).code).toBe(143)
  await until('the second run has the lease', () => second.output().stdout === 'up\n')
  second.child.kill('SIGKILL')
  await until('the second run is gone', () => !isRunning(second.pid))
  const third = await world.stint(['run', '--lock', '--wait', '30s', '--', 'true'], { cwd: world.workspace })
  expect(third.code).toBe(0)
})

test('without a guard, SIGKILL of stint does not free the workspace while the program lives', async () => {
  await using world = new LockWorld()
  const run = world.startStint(
    ['run', '--lock', '--no-guard', '--session', 'a', '--', 'sh', '-c', 'echo $$; exec sleep 300'],
    {
      cwd: world.workspace,
    },
  )
  await until('the program has printed its pid', () => run.output().stdout.endsWith('\n'))
  const program = Number(run.output().stdout)
  await until('it is a holder, too', async () => {
    const [claim] = dataOf(await world.lock(['status'])).claims as { holders: unknown[] }[]
    return claim?.holders.length === 2
  })
  run.child.kill('SIGKILL')
  await until('stint is dead', () => !isRunning(run.pid))
  expect((await world.lock(['acquire', '--session', 'b'])).code).toBe(4)
  process.kill(program, 'SIGKILL')
  await until('the program is dead', () => !isRunning(program))
  expect((await world.lock(['acquire', '--session', 'b'])).code).toBe(0)
})

test('run --lock in a session that already holds the workspace joins its claim, and leaves it as it was', async () => {
  await using world = new LockWorld()
  const agent = await world.lock(['acquire', '--session', 'agent', '--pid', String(process.pid)])
  const { fence } = dataOf(agent)
  const inside = await world.stint(
    ['run', '--lock', '--session', 'agent', '--', 'sh', '-c', 'echo "$STINT_FENCE"'],
    {
      cwd: world.workspace,
    },
  )
  expect(inside.stdout).toBe(`${String(fence)}\n`)
  expect(dataOf(await world.lock(['status']))).toMatchObject({
    claims: [{ session_id: 'agent', fence, holders: [process.pid] }],
  })
})

test.each(['kill', 'warn', undefined])(
  '--on-lost %s decides what happens if the lease is lost while the program runs',
  async (what) => {
    await using world = new LockWorld()
    const script = 'echo up; until [ -e done ]; do sleep 0.01; done'
    const flags = ['--lock', '--session', 'a', ...(what === undefined ? [] : ['--on-lost', what])]
    const run = world.startStint(['run', ...flags, '--', 'sh', '-c', script], { cwd: world.workspace })
    await until('it is up', () => run.output().stdout === 'up\n')
    await world.lock(['break', '--session', 'a', '--yes'])
    await until('it reports the loss', () => run.output().stderr.includes('LOCK_LOST'))
    if (what === 'warn') writeFileSync(join(world.workspace, 'done'), '')
    expect((await run.finished).code).toBe(what === 'warn' ? 0 : 4)
  },
)

/** Every name, link target and content below a directory. */
const everythingIn = (directory: string): string =>
  readdirSync(directory, { withFileTypes: true, recursive: true })
    .map((entry) => {
      const path = join(entry.parentPath, entry.name)
      if (entry.isSymbolicLink()) return `${entry.name} ${readlinkSync(path)}`
      return entry.isFile() ? `${entry.name} ${readFileSync(path, 'latin1')}` : entry.name
    })
    .join('\n')

test('no secret of the environment and no token reaches the disk in a purpose or in the reason for a break', async () => {
  await using world = new LockWorld()
  world.env.DEPLOY_TOKEN = 'correct-horse-battery'
  const text = `deploy correct-horse-battery AKIA${'ABCD'.repeat(4)}`
  const clean = 'deploy <secret:env:DEPLOY_TOKEN> <masked:aws-key-id>'
  await world.lock(['acquire', '--session', 'a', '--purpose', text])
  expect(dataOf(await world.lock(['status']))).toMatchObject({ claims: [{ purpose: clean }] })
  await world.lock(['break', '--session', 'a', '--reason', text, '--yes'])
  expect(dataOf(await world.lock(['status']))).toMatchObject({ breaks: [{ reason: clean }] })
  const status = [process.execPath, stintBin, 'lock', 'status', '--json']
  const run = await world.stint(['run', '--lock', '--record', '--purpose', text, '--', ...status], {
    cwd: world.workspace,
  })
  expect(validEnvelope(run.stdout).data).toMatchObject({ claims: [{ purpose: clean }] })
  expect(everythingIn(world.home)).not.toMatch(/correct-horse|AKIAABCD/)
})

test('--path, --purpose and --ttl appear in the claim of run --lock', async () => {
  await using world = new LockWorld()
  const flags = ['--path', 'src', '--path', 'docs', '--purpose', 'why', '--ttl', '20s']
  const status = [process.execPath, stintBin, 'lock', 'status', '--json']
  const { stdout } = await world.stint(['run', '--lock', '--session', 'a', ...flags, '--', ...status], {
    cwd: world.workspace,
  })
  const { claims } = validEnvelope(stdout).data as { claims: { expires_in_ms: number }[] }
  expect(claims).toMatchObject([{ session_id: 'a', paths: ['docs', 'src'], purpose: 'why' }])
  expect(claims[0]?.expires_in_ms).toBeLessThanOrEqual(20_001)
})

test('run --lock releases the lease only when every process of the program is gone', async () => {
  await using world = new LockWorld()
  const straggler = `trap '"$0" "$1" lock status --json > seen; exit' TERM; : > up; while :; do sleep 0.01; done`
  writeFileSync(join(world.workspace, 'straggler.sh'), straggler)
  const script = 'sh -c "$(cat straggler.sh)" "$0" "$1" & until [ -e up ]; do sleep 0.01; done'
  const flags = ['--lock', '--session', 'a', '--grace', '60s']
  const run = await world.stint(['run', ...flags, '--', 'sh', '-c', script, process.execPath, stintBin], {
    cwd: world.workspace,
  })
  expect(run.code).toBe(0)
  const seen = validEnvelope(readFileSync(join(world.workspace, 'seen'), 'utf8'))
  expect(seen.data).toMatchObject({ claims: [{ session_id: 'a' }] })
  expect(dataOf(await world.lock(['status']))).toMatchObject({ claims: [] })
})

test.each([
  ['--purpose', 'why'],
  ['--wait', '1s'],
  ['--path', 'src'],
  ['--ttl', '1m'],
  ['--on-lost', 'warn'],
  ['--lock', '--ttl', '31d'],
  ['--lock', '--ttl', '0'],
])('run %s %s %s: exit 2, and nothing has happened', async (...flags) => {
  await using world = new LockWorld()
  const result = await world.stint(['run', '--json', ...flags.filter(Boolean), '--', 'touch', 'ran'], {
    cwd: world.workspace,
  })
  expect([result.code, errorOf(result)?.code]).toEqual([2, 'ARG_ERROR'])
  expect(readdirSync(world.tmp)).toEqual(['work'])
  expect(readdirSync(world.workspace)).toEqual(['.git'])
})
