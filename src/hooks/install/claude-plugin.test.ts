import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { copyPrograms } from '../../../test/support/copy-tree.ts'
import { hookEvent, outcome } from '../../../test/support/hook-host.ts'
import { HookUser } from '../../../test/support/hook-user.ts'
import { projectRoot } from '../../../test/support/world.ts'
import { version } from '../../cli/stint.ts'
import { hosts } from '../hosts/hosts.ts'
import { claudePlugin } from './claude-plugin.ts'
import { withoutWait } from './command-text.ts'
import { hookEntries } from './edit-hooks.ts'
import type { SettingsAgentName } from '../hosts/host.ts'

const built = join(projectRoot, 'dist/claude-plugin')
const read = (path: string): string => readFileSync(join(built, path), 'utf8')

interface Hooks {
  hooks: Record<string, { matcher?: string; hooks: { command: string; timeout: number }[] }[]>
}

test('the build writes the files of the source, and the built hook', () => {
  for (const [path, text] of Object.entries(claudePlugin(version))) expect(read(path), path).toBe(text)
  for (const file of [
    'stint-hook.sh',
    'stint-hook.cjs',
    'hook-main.cjs',
    'hook-points.cjs',
    'hook-vault.cjs',
    'vault-copy.cjs',
    'points-sweep.cjs',
  ])
    expect(read(`hook/${file}`)).toBe(readFileSync(join(projectRoot, 'dist/bin', file), 'utf8'))
})

test('the plugin registers the events, matchers and timeouts of the settings', () => {
  const { hooks } = JSON.parse(read('hooks/hooks.json')) as Hooks
  const program = ['node', 'x']
  const entries = hookEntries('claude', { program, place: 'project' })
  expect(Object.keys(hooks)).toEqual(
    hosts.claude.events.filter(({ forRecord }) => !forRecord).map(({ name }) => name),
  )
  for (const { event, matcher, handler } of entries)
    expect(hooks[event]).toMatchObject([
      { ...(matcher && { matcher }), hooks: [{ timeout: handler.timeout }] },
    ])
})

test('the manifest and the marketplace name the same plugin', () => {
  const plugin = JSON.parse(read('.claude-plugin/plugin.json')) as { name: string }
  expect(plugin).toMatchObject({ name: 'stint', version })
  expect(JSON.parse(read('.claude-plugin/marketplace.json'))).toMatchObject({
    name: 'stint',
    plugins: [{ name: plugin.name, source: './', version }],
  })
})

/** Copies the plugin to where Claude Code puts it. */
function installed(world: HookUser): { root: string; call: (host: SettingsAgentName) => Promise<boolean> } {
  const root = join(world.user, '.claude/plugins/cache/a b/stint')
  mkdirSync(root, { recursive: true })
  copyPrograms(built, root)
  const { hooks } = JSON.parse(readFileSync(join(root, 'hooks/hooks.json'), 'utf8')) as Hooks
  const line = withoutWait(hooks.PreToolUse?.[0]?.hooks[0]?.command ?? '')
  const call = async (host: SettingsAgentName): Promise<boolean> => {
    const event = hookEvent('claude', 'pre', { cwd: world.project })
    const ended = await world.line(line, event, { CLAUDE_PLUGIN_ROOT: root })
    return outcome(host, ended).allowed
  }
  return { root, call }
}

test('a copy of the plugin works without the rest of stint, and blocks nothing once its hook is removed', async () => {
  await using world = new HookUser()
  const { root, call } = installed(world)
  expect(await call('claude')).toBe(true)
  // The session of the call ends with its process, so another session takes the claim.
  await world.stint(['lock', 'break', '--session', 'session-a', '--yes'], { cwd: world.project })
  await world.stint(['lock', 'acquire', '--session', 'other-session'], { cwd: world.project })
  expect(await call('claude')).toBe(false)
  rmSync(join(root, 'hook'), { recursive: true })
  expect(await call('claude')).toBe(true)
  expect(await call('copilot')).toBe(true)
})

test('the session that holds the workspace starts Node for its first call only', async () => {
  await using world = new HookUser()
  const { call } = installed(world)
  const starts = world.noteStartsOfNode()
  expect(await call('claude')).toBe(true)
  expect(starts()).toBe(1)
  expect(await call('claude')).toBe(true)
  expect(starts()).toBe(1)
})

test('the commands in /stint:sessions work', async () => {
  await using world = new HookUser()
  const commands = [...read('commands/sessions.md').matchAll(/^!`stint (.*?) \|\|/gm)].map(([, words = '']) =>
    words.split(' '),
  )
  expect(commands).toHaveLength(2)
  for (const words of commands)
    expect(await world.stint(words, { cwd: world.project }), words.join(' ')).toMatchObject({ code: 0 })
})
