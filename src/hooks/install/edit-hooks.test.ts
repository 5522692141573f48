import fc from 'fast-check'
import { parse } from 'jsonc-parser'
import { expect, test } from 'vitest'
import { findHandlers, withEntries } from './edit-hooks.ts'
import { hookEntries } from './edit-hooks.ts'
import type { SettingsAgentName } from '../hosts/host.ts'
import { hostSettings } from './agents.ts'

const agents = Object.keys(hostSettings) as SettingsAgentName[]
const program = ['/usr/bin/node', '/opt/stint/stint-hook.cjs']

const install = (text: string, agent: SettingsAgentName, chosen: object = {}): string =>
  withEntries(text, agent, hookEntries(agent, { program, place: 'user', ...chosen }))
const uninstall = (text: string, agent: SettingsAgentName): string => withEntries(text, agent, [])

const theirs = { matcher: 'Bash', hooks: [{ type: 'command', command: 'their-own-hook' }] }
const settings = `{
  // what I like
  "model": "best",
  "hooks": {
    "PreToolUse": [
      ${JSON.stringify(theirs)},
    ],
    "PreCompact": [{"hooks": [{"type": "command", "command": "beep"}]}]
  }
}
`

test('new hooks come after existing ones, which do not change', () => {
  const now = install(settings, 'claude')
  const { hooks } = parse(now) as { hooks: Record<string, { hooks: { command: string }[] }[]> }
  expect(hooks.PreToolUse?.[0]).toEqual(theirs)
  expect(hooks.PreToolUse?.[1]?.hooks[0]?.command).toContain('stint-hook.cjs claude')
  expect(hooks.PreCompact).toHaveLength(2)
  expect(now).toContain('// what I like')
})

test.each(agents)(
  '%s: installing twice changes nothing more, and uninstalling restores the file',
  (agent) => {
    for (const text of ['{\n  "other": 1\n}\n', '{"other":1}', '{\r\n\t"other": 1,\r\n}\r\n']) {
      const once = install(text, agent)
      expect(install(once, agent)).toBe(once)
      const before = 'version' in hostSettings[agent].shape.root ? withVersion(text) : text
      expect(uninstall(once, agent)).toBe(before)
    }
  },
)

/** Cursor and Copilot ignore a file without `version`, so it stays. */
const withVersion = (text: string): string => {
  if (text.startsWith('{"')) return '{"other":1,"version":1}'
  return text.includes('\r')
    ? '{\r\n\t"other": 1,\r\n\t"version": 1,\r\n}\r\n'
    : '{\n  "other": 1,\n  "version": 1\n}\n'
}

test('other choices update the hooks in place', () => {
  const first = install(settings, 'claude')
  const mine = { hooks: [{ type: 'command', command: 'later' }] }
  const withLater = first.replace('"Stop": [', `"Stop": [\n      ${JSON.stringify(mine)},`)
  const now = install(withLater, 'claude', { scope: 'paths', failClosed: true })
  const { hooks } = parse(now) as { hooks: Record<string, { hooks: Record<string, unknown>[] }[]> }
  expect(hooks.Stop?.[0]).toEqual(mine)
  expect(hooks.Stop).toHaveLength(2)
  expect(hooks.PreToolUse?.[1]?.hooks[0]).toMatchObject({ onFailure: 'block' })
  expect(findHandlers(now, 'claude')).toHaveLength(hookEntries('claude', { program, place: 'user' }).length)
  expect(now).toContain('--scope paths --wait 20s --fail-closed')
})

test('only the event before a call fails closed: a failure must not keep a turn from ending', () => {
  for (const agent of agents) {
    const closed = hookEntries(agent, { program, place: 'user', failClosed: true }).filter(({ handler }) =>
      JSON.stringify(handler).includes('--fail-closed'),
    )
    expect(closed).toHaveLength(1)
  }
})

test('a group with handlers of the user keeps them and its matcher', () => {
  const mixed = install('{}', 'claude').replace(
    '"hooks": [\n          {',
    '"hooks": [\n          {"type": "command", "command": "theirs"},\n          {',
  )
  const updated = install(mixed.replace('"Edit|', '"MyTool|Edit|'), 'claude', { hold: 'session' })
  expect(updated).toContain('"MyTool|Edit|')
  const left = parse(uninstall(updated, 'claude')) as object
  expect(left).toEqual({
    hooks: {
      PreToolUse: [
        {
          matcher: 'MyTool|Edit|Write|MultiEdit|NotebookEdit|Bash|Monitor|PowerShell',
          hooks: [{ type: 'command', command: 'theirs' }],
        },
      ],
    },
  })
})

/** A matcher without two of the tools that stint guards. */
const shorterMatcher = 'Edit|Write|MultiEdit|NotebookEdit|Bash'

test('a handler in a group whose matcher lacks tools gets a group of its own; the group stays', () => {
  const group = install('{}', 'claude')
    .replace('|Monitor|PowerShell', '')
    .replace(
      '"hooks": [\n          {',
      '"hooks": [\n          {"type": "command", "command": "theirs"},\n          {',
    )
  const { hooks } = parse(install(group, 'claude')) as { hooks: Record<string, object[]> }
  expect(hooks.PreToolUse).toMatchObject([
    { matcher: shorterMatcher, hooks: [{ command: 'theirs' }] },
    { matcher: `${shorterMatcher}|Monitor|PowerShell`, hooks: [{ type: 'command' }] },
  ])
})

// Claude Code and Gemini CLI share a matcher in a group; Cursor has one in each handler.
test.each(['claude', 'gemini', 'cursor'] as const)(
  '%s: tools that the user added to a matcher stay when stint installs again',
  (agent) => {
    const withMine = (text: string): string =>
      text.replaceAll(/(?<="matcher": "(\^\()?)(?=\w)/g, 'mcp__files__.*|')
    const edited = withMine(install('{}', agent))
    expect(edited).toContain('mcp__files__.*|')
    expect(install(edited, agent)).toBe(edited)
    const scope = { scope: 'paths' }
    expect(install(edited, agent, scope)).toBe(withMine(install('{}', agent, scope)))
  },
)

test.each([
  ['claude', 'Mine|Edit', 'Mine|Edit|Write|MultiEdit|NotebookEdit|Bash|Monitor|PowerShell'],
  ['claude', shorterMatcher, `${shorterMatcher}|Monitor|PowerShell`],
  ['gemini', '^(mine|replace)$', '^(mine|replace)$|^(run_shell_command|write_file)$'],
  ['cursor', 'Mine', 'Mine|Shell|Write|StrReplace|ApplyPatch|Edit|EditNotebook|TabWrite|Delete'],
  ['cursor', '*', '*'],
] as const)('%s: the matcher %j, which lacks tools of stint, becomes %j', (agent, theirs, merged) => {
  const withMatcher = (matcher: string): string =>
    install('{}', agent).replaceAll(/(?<="matcher": )".*"/g, JSON.stringify(matcher))
  expect(install(withMatcher(theirs), agent)).toBe(withMatcher(merged))
  expect(install(withMatcher(merged), agent)).toBe(withMatcher(merged))
})

test('a matcher that the user removed, to guard every tool, does not come back', () => {
  const without = install('{}', 'claude').replaceAll(/ *"matcher": .*\n/g, '')
  expect(without).not.toContain('matcher')
  expect(install(without, 'claude')).toBe(without)
})

test('duplicate hooks become one', () => {
  const once = install('{}', 'cursor')
  const { hooks } = parse(once) as { hooks: Record<string, unknown[]> }
  const twice = JSON.stringify({
    version: 1,
    hooks: { ...hooks, stop: [...(hooks.stop ?? []), ...(hooks.stop ?? [])] },
  })
  expect(parse(install(twice, 'cursor'))).toEqual(parse(once))
})

test('the hook of an event that is no longer registered is removed', () => {
  const old = install('{}', 'claude').replace('"Stop"', '"OldEvent"')
  const now = parse(install(old, 'claude')) as { hooks: object }
  expect(Object.keys(now.hooks)).not.toContain('OldEvent')
  expect(Object.keys(now.hooks)).toContain('Stop')
})

test('containers that are empty without the entries go, and other empty ones stay', () => {
  const now = install('{\n  "hooks": {\n    "Stop": []\n  }\n}\n', 'claude')
  expect(uninstall(now, 'claude')).toBe('{}\n')
  const other = '{\n  "hooks": {\n    "Other": []\n  }\n}\n'
  expect(uninstall(install(other, 'claude'), 'claude')).toBe(other)
})

test.each([
  ['[]', 'not an object'],
  ['"text"', 'not an object'],
  ['{"hooks": []}', '`hooks` is not an object'],
  ['{"hooks": {"PreToolUse": {}}}', '`hooks.PreToolUse` is not a list'],
])('%s is refused: %s', (text, message) => {
  expect(() => install(text, 'claude')).toThrow(message)
})

const anyJson = fc.json({ maxDepth: 3 })
const odd = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 })

test('any other content is refused or kept unchanged', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...agents),
      fc.oneof(
        fc.constant('{"__proto__": []}'),
        anyJson,
        odd.map((value) => JSON.stringify(value, null, 2)),
      ),
      (agent, text) => {
        let now: string
        try {
          now = install(text, agent)
        } catch (error) {
          expect(error).toMatchObject({ code: 'SETTINGS_INVALID' })
          return
        }
        const before = JSON.parse(text) as Record<string, unknown>
        // `parse` of jsonc-parser loses a key `__proto__`.
        const { hooks: _, ...after } = JSON.parse(now) as Record<string, unknown>
        expect({ ...hostSettings[agent].shape.root, ...after }).toEqual({
          ...hostSettings[agent].shape.root,
          ...before,
          ...(before.hooks === undefined ? {} : { hooks: undefined }),
        })
        expect(install(now, agent)).toBe(now)
      },
    ),
  )
})
