import { expect, test } from 'vitest'
import { HookWorld } from '../../test/support/hook-host.ts'

test('a refusal by a session in Codex’s app-server says that all windows share its pid, and not to close it', async () => {
  await using world = new HookWorld()
  // Its command line is all that the hook looks at.
  const server = world.start(process.execPath, ['-e', 'setInterval(() => {}, 1e6)', 'app-server'])
  await world.lock(['acquire', '--session', 'first', '--pid', String(server.pid)])
  const { allowed, reason } = await world.hook('codex', 'pre', { session: 'second' })
  expect(allowed).toBe(false)
  expect(reason).toMatch(/^parallel session lock held by first — wait for that session\. /)
  expect(reason).toContain(`Its pid ${server.pid} is the app-server of all Codex windows: do not end it. `)
  expect(reason).not.toContain('close')
})

test('a refusal by a claim without a process names no pid', async () => {
  await using world = new HookWorld()
  await world.lock(['acquire', '--session', 'first'])
  const { reason } = await world.hook('claude', 'pre', { session: 'second' })
  expect(reason).toMatch(/^parallel session lock held by first — wait or close that session first\. /)
})

test('a refusal for a home that cannot be written names the command that shows why', async () => {
  await using world = new HookWorld()
  world.env.STINT_HOME = '/proc/none'
  const { reason } = await world.hook('claude', 'pre', { choices: { failClosed: true } })
  const [command = ''] = /(?<=Tell the user: `stint )[a-z ]+(?=` shows what is wrong)/.exec(reason) ?? []
  const { stdout } = await world.stint([...command.split(' '), '--json'])
  expect(stdout).toContain('/proc/none')
})
