import { expect, test } from 'vitest'
import {
  type CommandHost,
  commandHosts,
  hookEvent,
  type Moment,
  registered,
} from '../../test/support/hook-host.ts'
import { touchedPaths } from './call-target.ts'
import { detectHost, readEvent } from './event.ts'
import { hosts } from './hosts.ts'

const moments: Moment[] = ['pre', 'edit', 'post', 'failure', 'prompt', 'stop', 'start', 'end']
const all = commandHosts.flatMap((host) => moments.map((moment) => [host, moment] as const))

const read = (configured: CommandHost, host: CommandHost, moment: Moment, env = {}) => {
  const name = hosts[configured].namesEvent ? undefined : registered(configured, moment).name
  return readEvent(hookEvent(host, moment, { cwd: '/w' }), { configured, name, env })
}

test.each(all)('%s, %s: the event is read correctly', (host, moment) => {
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

test.each(commandHosts)(
  '%s is recognized by its events when it runs a hook from Claude Code’s settings',
  (host) => {
    expect(read('claude', host, 'pre').host).toBe(host)
    expect(read('claude', host, 'post').host).toBe(host)
  },
)

test('Copilot is recognized in an event named as in Claude Code by the missing transcript', () => {
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

test('GEMINI_SESSION_ID alone does not make an agent Gemini', () => {
  const env = { GEMINI_SESSION_ID: 'outer' }
  expect(read('claude', 'claude', 'pre', env).host).toBe('claude')
  expect(detectHost({ session_id: 'outer', timestamp: 't' }, { configured: 'claude', env })).toBe('gemini')
})

test('an unknown event has no kind', () => {
  expect(
    readEvent({ hook_event_name: 'SubagentStart' }, { configured: 'claude', env: {} }).kind,
  ).toBeUndefined()
  expect(readEvent({ hook_event_name: 'toString' }, { configured: 'claude', env: {} }).kind).toBeUndefined()
})

test('a blank session id counts as missing; subagents and background tasks are noted', () => {
  const json = { session_id: ' ', agent_id: 'x', background_tasks: [{}], hook_event_name: 'Stop' }
  expect(readEvent(json, { configured: 'claude', env: {} })).toMatchObject({
    sessionId: undefined,
    subagent: true,
    background: true,
  })
})
