import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { commandHosts, HookWorld } from '../../test/support/hook-host.ts'
import type { SettingsAgentName } from './hosts/host.ts'
import { hosts } from './hosts/hosts.ts'

const takesContext = (host: SettingsAgentName): boolean => hosts[host].context !== undefined

/** A session holds the workspace, and after it another one; then the first calls a tool again. */
async function comeBack(world: HookWorld, host: SettingsAgentName) {
  for (const session of ['first', 'second']) {
    expect(await world.hook(host, 'pre', { session })).toMatchObject({ allowed: true, ended: { stdout: '' } })
    await world.hook(host, 'stop', { session })
  }
  const { allowed, ended } = await world.hook(host, 'pre', { session: 'first' })
  expect({ allowed, code: ended.code, stderr: ended.stderr }).toEqual({ allowed: true, code: 0, stderr: '' })
  return ended.stdout
}

test.each(commandHosts.filter(takesContext))(
  '%s: the model is told once which session held the workspace since its own did',
  async (host) => {
    await using world = new HookWorld()
    const stdout = await comeBack(world, host)
    expect(stdout).toContain(`session second (${hosts[host].title}) held`)
    expect(JSON.parse(stdout)).toEqual({
      hookSpecificOutput: {
        hookEventName: 'PreToolUse',
        additionalContext: expect.stringMatching(
          /^stint: since your session was last here, session second \([\w ]+\) held this workspace for (?:a moment|\ds), until (?:a moment|\ds) ago\. Files that you know may have changed: .*$/,
        ) as string,
      },
    })
    expect(await world.hook(host, 'pre', { session: 'first' })).toMatchObject({ ended: { stdout: '' } })
  },
)

test.each(commandHosts.filter((host) => !takesContext(host)))(
  '%s, which takes no context before a call, gets none',
  async (host) => {
    await using world = new HookWorld()
    expect(await comeBack(world, host)).toBe('')
  },
)

test('a session that was refused is told who held the workspace when it gets it', async () => {
  await using world = new HookWorld()
  await world.hook('claude', 'pre', { session: 'first' })
  expect(await world.hook('claude', 'pre', { session: 'second' })).toMatchObject({ allowed: false })
  expect(await world.hook('claude', 'pre', { session: 'second' })).toMatchObject({ allowed: false })
  await world.hook('claude', 'stop', { session: 'first' })
  const { ended } = await world.hook('claude', 'pre', { session: 'second' })
  expect(ended.stdout).toContain('session first (Claude Code) held this workspace')
  const log = readFileSync(join(world.home, 'activity', `${world.key}.log`), 'utf8')
  const kinds = log
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { kind: string }).kind)
  expect(kinds).toEqual(['grant', 'refusal', 'release', 'grant'])
})

test('calls of the session that holds the workspace add nothing to its log', async () => {
  await using world = new HookWorld()
  await world.hook('claude', 'pre', { session: 'first', call: 'one' })
  const log = join(world.home, 'activity', `${world.key}.log`)
  const before = readFileSync(log, 'utf8')
  await world.hook('claude', 'post', { session: 'first', call: 'one' })
  await world.hook('claude', 'pre', { session: 'first', call: 'two' })
  await world.hook('claude', 'prompt', { session: 'first' })
  expect(readFileSync(log, 'utf8')).toBe(before)
})
