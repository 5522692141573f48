import { expect, test } from 'vitest'
import { hookEvent, HookWorld, lineOf } from '../../test/support/hook-host.ts'
import { until } from '../../test/support/world.ts'

/** A process with the argument `app-server`, in which a session of Codex holds the workspace. */
async function startAppServer(world: HookWorld): Promise<number | undefined> {
  const event = JSON.stringify(hookEvent('codex', 'pre', { session: 'first', cwd: world.workspace }))
  const program = `const [, line, input] = process.argv.slice(1)
    require('node:child_process').spawnSync('sh', ['-c', line], { input })
    setInterval(() => {}, 1e6)`
  const server = world.start(process.execPath, ['-e', program, 'app-server', lineOf('codex', 'pre'), event])
  await until('the session holds the workspace', () => world.claims.length > 0)
  return server.pid
}

test('a refusal by a session in Codex’s app-server says that all windows share its pid, and not to close it', async () => {
  await using world = new HookWorld()
  const pid = await startAppServer(world)
  const { allowed, reason } = await world.hook('codex', 'pre', { session: 'second' })
  expect(allowed).toBe(false)
  expect(reason).toContain(
    `parallel session lock held by first (pid ${pid}) — wait for that session. The pid is the app-server of all Codex windows: do not end it. `,
  )
  expect(reason).toContain('stint lock wait --timeout 60s`, with yield_time_ms 65000, then')
  expect(reason.trim().length).toBeLessThanOrEqual(400)
  expect(reason).not.toContain('close')
  const { stdout } = await world.lock(['acquire', '--session', 'third'])
  expect(stdout).toContain(
    'work in another workspace. Do not end its pid: it is the app-server of all Codex windows',
  )
  expect(stdout).not.toContain('end that session')
})

test('a program that is not Codex may have an argument app-server', async () => {
  await using world = new HookWorld()
  const other = world.start(process.execPath, ['-e', 'setInterval(() => {}, 1e6)', 'app-server'])
  await world.lock(['acquire', '--session', 'first', '--pid', String(other.pid)])
  const { reason } = await world.hook('claude', 'pre', { session: 'second' })
  expect(reason).toContain(`held by first (pid ${other.pid}) — wait or close that session first. `)
})

test('a refusal by a claim without a process says so', async () => {
  await using world = new HookWorld()
  await world.lock(['acquire', '--session', 'first'])
  const { reason } = await world.hook('claude', 'pre', { session: 'second' })
  expect(reason).toMatch(
    /^parallel session lock held by first \(no pid\) — wait or close that session first\. /,
  )
})

test('a refusal for a home that cannot be written names the command that shows why', async () => {
  await using world = new HookWorld()
  world.env.STINT_HOME = '/proc/none'
  const { reason } = await world.hook('claude', 'pre', { choices: { failClosed: true } })
  const [command = ''] = /(?<=Tell the user: `stint )[a-z ]+(?=` shows what is wrong)/.exec(reason) ?? []
  const { stdout } = await world.stint([...command.split(' '), '--json'])
  expect(stdout).toContain('/proc/none')
})
