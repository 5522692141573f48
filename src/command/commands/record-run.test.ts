import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { buildSlowSync } from '../../../test/support/build-c.ts'
import { dataOf, errorOf, jsonLines, SessionWorld } from '../../../test/support/session-world.ts'
import { type Running, until } from '../../../test/support/world.ts'

const record = (world: SessionWorld, ...args: string[]) =>
  world.stint(['run', '--record', '--session', 'mine', ...args], { cwd: world.tmp })

async function acts(world: SessionWorld) {
  return dataOf(await world.audit('show', 'mine')).acts as Record<string, unknown>[]
}

test('a recorded run is in the journal and the audit log, before it starts and after it has ended', async () => {
  await using world = new SessionWorld()
  const { code, stdout, stderr } = await record(world, '--', 'sh', '-c', 'echo out; exit 3')
  expect([code, stdout, stderr]).toEqual([3, 'out\n', ''])
  const events = jsonLines((await world.stint(['sessions', 'tail', 'mine', '-n', 'all', '--json'])).stdout)
  expect(events).toMatchObject([
    { type: 'run.start', data: { command: ['sh', '-c', 'echo out; exit 3'], cwd: world.tmp } },
    { type: 'run.end', data: { exit_code: 3, signal: null, duration_ms: expect.any(Number) } },
  ])
  expect(await acts(world)).toMatchObject([
    {
      action: 'run',
      subject: "sh -c 'echo out; exit 3'",
      state: 'failed',
      act: expect.stringMatching(/^req_/),
    },
  ])
  await record(world, '--', 'true')
  expect((await acts(world)).map(({ state }) => state)).toEqual(['failed', 'done'])
  expect(world.leftovers()).toEqual([])
})

test('the intent is on disk before the program runs: it finds itself there', async () => {
  await using world = new SessionWorld()
  const script = 'cat "$STINT_HOME/sessions/$STINT_SESSION_ID/audit/audit.log"'
  const { stdout } = await record(world, '--', 'sh', '-c', script)
  expect(jsonLines(stdout)).toMatchObject([{ type: 'intent', data: { action: 'run' } }])
})

test('without a session a new one is made; STINT_SESSION_ID names one', async () => {
  await using world = new SessionWorld()
  const minted = await world.stint([
    'run',
    '--record',
    '--json',
    '--',
    'sh',
    '-c',
    'echo "$STINT_SESSION_ID"',
  ])
  const id = minted.envelope().meta.session_id
  expect(id).toMatch(/^ses_/)
  expect(minted.stderr).toBe(`${id}\n`)
  await world.stint(['run', '--record', '--', 'true'], { env: { STINT_SESSION_ID: 'agent-7' } })
  expect(
    readdirSync(world.sessions)
      .filter((name) => !name.startsWith('.'))
      .sort(),
  ).toEqual(['agent-7', id].sort())
})

test('a run is not started while another process holds its session', async () => {
  await using world = new SessionWorld()
  const holder = await world.hold('mine')
  const refused = await record(world, '--json', '--', 'touch', 'ran')
  expect(errorOf(refused)?.code).toBe('SESSION_LOCKED')
  expect(existsSync(join(world.tmp, 'ran'))).toBe(false)
  await holder.close()
  expect(await acts(world)).toEqual([])
})

test('a run whose session another process holds at its end keeps its exit code, and warns', async () => {
  await using world = new SessionWorld()
  const program = ['sh', '-c', 'echo on; read line; exit 3']
  const stdio: ['pipe', 'pipe', 'pipe'] = ['pipe', 'pipe', 'pipe']
  const run = world.startStint(['run', '--record', '--session', 'mine', '--', ...program], { stdio })
  await until('it runs', () => run.output().stdout === 'on\n')
  await world.hold('mine')
  run.child.stdin?.end('\n')
  expect(await run.finished).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('the end of the run could not be recorded') as string,
  })
  expect(await acts(world)).toMatchObject([{ state: 'unsettled' }])
})

test('a program that does not exist, a timeout and a signal are outcomes; SIGKILL leaves an act unsettled', async () => {
  await using world = new SessionWorld()
  expect((await record(world, '--', 'no-such-program')).code).toBe(127)
  expect((await record(world, '--timeout', '2s', '--', 'sleep', '60')).code).toBe(10)
  const start = async (): Promise<Running> => {
    const program = ['sh', '-c', 'echo on; sleep 60']
    const running = world.startStint(['run', '--record', '--session', 'mine', '--', ...program])
    await until('it runs', () => running.output().stdout === 'on\n')
    return running
  }
  const stopped = await start()
  stopped.child.kill('SIGTERM')
  expect((await stopped.finished).code).toBe(143)
  const killed = await start()
  killed.child.kill('SIGKILL')
  await killed.finished
  const all = await acts(world)
  expect(all.map(({ state }) => state)).toEqual(['failed', 'failed', 'failed', 'unsettled'])
  expect(all[0]?.detail).toMatchObject({ error: { code: 'COMMAND_NOT_FOUND' } })
  expect(all[1]?.detail).toMatchObject({ error: { code: 'TIMEOUT' } })
  expect(all[2]?.detail).toMatchObject({ error: { message: 'stopped by SIGTERM' } })
})

test('a run whose timeout comes while its start is being recorded is recorded as timed out', async () => {
  await using world = new SessionWorld()
  // A session is created and its intent written with far more than five syncs.
  const env = { LD_PRELOAD: buildSlowSync(world.tmp), SLOW_SYNC_MS: '100' }
  const args = ['run', '--record', '--session', 'mine', '--timeout', '200ms', '--', 'touch', 'ran']
  expect((await world.stint(args, { cwd: world.tmp, env })).code).toBe(10)
  expect(await acts(world)).toMatchObject([{ state: 'failed', detail: { error: { code: 'TIMEOUT' } } }])
  expect(existsSync(join(world.tmp, 'ran'))).toBe(false)
})

test('a run that a signal stops is recorded with that signal, even if its program ends in its own way', async () => {
  await using world = new SessionWorld()
  const program = 'trap "sleep 0.1; exit 7" TERM; echo on; while :; do sleep 0.01; done'
  const args = ['run', '--record', '--session', 'mine', '--', 'sh', '-c', program]
  const running = world.startStint(args)
  await until('it runs', () => running.output().stdout === 'on\n')
  running.child.kill('SIGTERM')
  expect((await running.finished).code).toBe(143)
  expect(await acts(world)).toMatchObject([
    { state: 'failed', detail: { error: { code: 'CANCELLED', message: 'stopped by SIGTERM' } } },
  ])
})

test('a run that is ended by its budget is recorded with that reason', async () => {
  await using world = new SessionWorld()
  const script = 'head -c 9000 /dev/zero > "$TMPDIR/x"; sleep 60'
  expect((await record(world, '--max-bytes', '1KB', '--', 'sh', '-c', script)).code).toBe(4)
  expect(await acts(world)).toMatchObject([
    { state: 'failed', detail: { error: { code: 'BUDGET_EXCEEDED' } } },
  ])
})

test('if it cannot be recorded it is not run', async () => {
  await using world = new SessionWorld()
  await world.make('mine', 3)
  writeFileSync(world.path('mine', 'manifest.json'), '{}')
  const { code, stderr } = await record(world, '--', 'touch', `${world.tmp}/ran`)
  expect([code, stderr.includes('JOURNAL_CORRUPT')]).toEqual([4, true])
  expect(existsSync(`${world.tmp}/ran`)).toBe(false)
})

test('secrets on the command line and in the environment do not reach the disk', async () => {
  await using world = new SessionWorld({ DEPLOY_TOKEN: 'correct-horse-battery' })
  await record(world, '--', 'true', '--token=correct-horse-battery', `AKIA${'ABCD'.repeat(4)}`)
  expect((await acts(world))[0]?.subject).toBe('true --token=<secret:env:DEPLOY_TOKEN> <masked:aws-key-id>')
  expect(spawnSync('grep', ['-r', '-e', 'correct-horse', '-e', 'AKIAABCD', world.home]).status).toBe(1)
})

test('a token on the command line is masked even in a session that stores what it is given', async () => {
  await using world = new SessionWorld()
  const token = `AKIA${'ABCD'.repeat(4)}`
  const session = await world.store.create({ id: 'mine' })
  await session.append({ type: 'own', data: token })
  await session.close()
  await record(world, '--', 'true', token)
  expect((await acts(world))[0]?.subject).toBe('true <masked:aws-key-id>')
  const { events } = await world.store.inspect('mine')
  const read: unknown[] = []
  for await (const { type, data, masked } of events())
    read.push([type, JSON.stringify(data).includes(token), masked])
  expect(read).toEqual([
    ['own', true, undefined],
    ['run.start', false, true],
    ['run.end', false, undefined],
  ])
})
