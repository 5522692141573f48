import { expect, test } from 'vitest'
import {
  type CommandHost,
  commandHosts,
  hookEvent,
  type Moment,
  registered,
} from '../../test/support/hook-host.ts'
import { detectHost, readEvent } from './event.ts'
import { purposeOf, touchedPaths } from './call-target.ts'
import { hosts } from './hosts.ts'

const moments: Moment[] = ['pre', 'edit', 'post', 'failure', 'prompt', 'stop', 'start', 'end']
const all = commandHosts.flatMap((host) => moments.map((moment) => [host, moment] as const))

const read = (configured: CommandHost, host: CommandHost, moment: Moment, env = {}) => {
  const name = hosts[configured].namesEvent ? undefined : registered(configured, moment).name
  return readEvent(hookEvent(host, moment, { cwd: '/w' }), { configured, name, env })
}

test.each(all)('%s, %s: is understood as what it is', (host, moment) => {
  const event = read(host, host, moment)
  const codexInterrupt = host === 'codex' && moment === 'failure'
  const kinds: Partial<Record<Moment, string>> = { edit: 'pre', failure: codexInterrupt ? 'stop' : 'post' }
  expect(event).toMatchObject({ host, kind: kinds[moment] ?? moment, sessionId: 'session-a', cwd: '/w' })
  if (moment === 'pre') expect(event.tool?.use).toBe('shell')
  if (moment === 'edit') {
    expect(event.tool?.use).toBe('edit')
    expect(touchedPaths(event.tool ?? { input: {} })[0]).toMatch(/^(\/w\/)?src\/a\.ts$/)
  }
  const named = ['claude', 'codex', 'cursor'].includes(host) && event.tool !== undefined
  expect(event.callId).toBe(named ? 'call-1' : undefined)
})

test.each(commandHosts)('%s is known by its events when it runs what Claude Code’s settings say', (host) => {
  expect(read('claude', host, 'pre').host).toBe(host)
  expect(read('claude', host, 'post').host).toBe(host)
})

test('Copilot under Claude Code’s name for an event sends no transcript, and is known by that', () => {
  const json = {
    hook_event_name: 'PreToolUse',
    session_id: 's',
    timestamp: '2026-11-15T12:00:00.000Z',
    cwd: '/w',
    tool_name: 'bash',
    tool_input: { command: 'make' },
  }
  const event = readEvent(json, { configured: 'claude', env: {} })
  expect(event).toMatchObject({ host: 'copilot', kind: 'pre', sessionId: 's', tool: { use: 'shell' } })
})

test('Gemini’s session in the environment does not make every agent below it Gemini', () => {
  const env = { GEMINI_SESSION_ID: 'outer' }
  expect(read('claude', 'claude', 'pre', env).host).toBe('claude')
  expect(detectHost({ session_id: 'outer', timestamp: 't' }, { configured: 'claude', env })).toBe('gemini')
})

test('an event that is none of ours has no meaning', () => {
  expect(
    readEvent({ hook_event_name: 'SubagentStart' }, { configured: 'claude', env: {} }).kind,
  ).toBeUndefined()
  expect(readEvent({ hook_event_name: 'toString' }, { configured: 'claude', env: {} }).kind).toBeUndefined()
})

test('a blank session counts as none, a subagent is noted, so is work in the background', () => {
  const json = { session_id: ' ', agent_id: 'x', background_tasks: [{}], hook_event_name: 'Stop' }
  expect(readEvent(json, { configured: 'claude', env: {} })).toMatchObject({
    sessionId: undefined,
    subagent: true,
    background: true,
  })
})

test('a patch names all files it touches, once', () => {
  const command = `*** Begin Patch
*** Add File: a.ts
+*** Update File: not this
*** Update File: b.ts
*** Move to: c.ts
*** Delete File: d.ts
*** Update File: b.ts
*** End Patch`
  expect(touchedPaths({ input: { command } })).toEqual(['a.ts', 'b.ts', 'c.ts', 'd.ts'])
  expect(touchedPaths({ input: { command: 7 } })).toEqual([])
})

test.each([
  [{ command: 'npm test', description: 'Run the\n tests' }, 'Claude Code: Bash (Run the tests)'],
  [{ command: 'npm test --token x' }, 'Claude Code: Bash npm'],
  [{ command: 'TOKEN=x deploy' }, 'Claude Code: Bash'],
  [{}, 'Claude Code: Bash'],
])('what a command is for is said without its arguments: %j', (input, purpose) => {
  expect(purposeOf({ host: 'claude', tool: { name: 'Bash', use: 'shell', input } }, String)).toBe(purpose)
})
