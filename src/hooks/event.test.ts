import { expect, test } from 'vitest'
import { commandHosts, hookEvent, type Moment, registered } from '../../test/support/hook-host.ts'
import { touchedPaths } from './call-target.ts'
import { detectHost, readEvent, senders, useOf } from './event.ts'
import { hosts } from './hosts/hosts.ts'
import type { SettingsAgentName } from './hosts/host.ts'

const moments: Moment[] = ['pre', 'edit', 'post', 'failure', 'prompt', 'stop', 'start', 'end']
const all = commandHosts.flatMap((host) => moments.map((moment) => [host, moment] as const))

const guests = commandHosts.filter((host) => host in senders)
const owners = commandHosts.filter((host) => !hosts[host].sharesSettings)

const read = (configured: SettingsAgentName, host: SettingsAgentName, moment: Moment, env = {}) => {
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
  const hasId = JSON.stringify(hookEvent(host, moment, { cwd: '/w' })).includes('call-1')
  expect(event.callId).toBe(hasId ? 'call-1' : undefined)
  expect(event.failure !== undefined).toBe(moment === 'failure' && event.kind === 'post')
})

test.each(commandHosts)('%s: every tool of a matcher counts as an edit or a shell', (name) => {
  const host = hosts[name]
  const tools = host.events.flatMap(({ matcher }) => matcher?.match(/\w+/g) ?? [])
  expect(tools.filter((tool) => useOf(tool, [host]) === 'none')).toEqual([])
  expect(host.shells).toEqual(expect.arrayContaining([...host.posixShells]))
})

test('events about permissions and notifications of Claude Code and Codex are read', () => {
  const claude = (moment: Moment) => read('claude', 'claude', moment)
  expect(claude('waiting')).toMatchObject({ kind: 'waiting', tool: { name: 'Bash' }, callId: undefined })
  expect(claude('denied')).toMatchObject({
    kind: 'post',
    callId: 'call-1',
    failure: { error: 'not needed for the task' },
  })
  expect(claude('interrupt')).toMatchObject({ kind: 'post', callId: 'call-1', interrupted: true })
  expect(claude('notification')).toMatchObject({ kind: 'waiting', tool: undefined })
  expect(claude('idle').kind).toBe('stop')
  const other = { hook_event_name: 'Notification', notification_type: 'auth_success' }
  expect(readEvent(other, { configured: 'claude', env: {} }).kind).toBeUndefined()
  expect(read('codex', 'codex', 'waiting')).toMatchObject({ kind: 'waiting', tool: { use: 'shell' } })
})

test.each(guests)(
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

test('only Gemini CLI has events of the names by which it is recognized', () => {
  const isGeminis = ({ name }: { name: string }) => senders.gemini?.({ hook_event_name: name }, {})
  const like = Object.values(hosts).filter(({ events }) => events.some(isGeminis))
  expect(like.map(({ name }) => name)).toEqual(['gemini'])
})

// Gemini sends both with every event.
const geminiBase = { timestamp: 't', transcript_path: '/t' }

test('GEMINI_SESSION_ID alone does not make an agent Gemini', () => {
  const env = { GEMINI_SESSION_ID: 'outer' }
  expect(read('claude', 'claude', 'pre', env).host).toBe('claude')
  expect(detectHost({ ...geminiBase, session_id: 'outer' }, { configured: 'claude', env })).toBe('gemini')
})

test.each(owners)('%s: a field of another host does not change the sender of an event', (host) => {
  const foreign = {
    cursor_version: '9',
    turn_id: 't',
    conversation_id: 'c',
    generation_id: 'g',
    timestamp: 't',
  }
  const { name } = registered(host, 'pre')
  const json = { ...foreign, ...hookEvent(host, 'pre', { cwd: '/w' }) }
  const event = readEvent(json, { configured: host, name, env: {} })
  expect(event).toMatchObject({ host, kind: 'pre', tool: { use: 'shell' } })
})

test('a tool that the sender does not have is looked up in the host whose settings it ran', () => {
  const json = { ...hookEvent('claude', 'pre', { cwd: '/w' }), turn_id: 't', tool_name: 'NotebookEdit' }
  const event = readEvent(json, { configured: 'claude', env: {} })
  expect(event).toMatchObject({ host: 'codex', tool: { use: 'edit' } })
})

test('the name of an event counts only for a host that sends it, or whose settings ran', () => {
  const kindOf = (hook_event_name: string, configured: SettingsAgentName, more = {}) =>
    readEvent({ hook_event_name, ...more }, { configured, env: {} }).kind
  expect(kindOf('BeforeTool', 'codex')).toBeUndefined()
  expect(kindOf('agentStop', 'cursor')).toBeUndefined()
  expect(kindOf('UserPromptSubmit', 'claude', { cursor_version: '9' })).toBe('prompt')
  expect(kindOf('beforeSubmitPrompt', 'claude', { cursor_version: '9' })).toBe('prompt')
})

test('an unknown event has no kind', () => {
  expect(
    readEvent({ hook_event_name: 'SubagentStart' }, { configured: 'claude', env: {} }).kind,
  ).toBeUndefined()
  expect(readEvent({ hook_event_name: 'toString' }, { configured: 'claude', env: {} }).kind).toBeUndefined()
})

test('a blank session id counts as missing; subagents are noted', () => {
  const json = { session_id: ' ', agent_id: 'x', hook_event_name: 'Stop' }
  expect(readEvent(json, { configured: 'claude', env: {} })).toMatchObject({
    sessionId: undefined,
    subagent: true,
  })
})

test.each([
  ['mcp__stint__wait_until_free', 'none'],
  ['mcp_stint_claim', 'none'],
  ['mcp__files__write', 'shell'],
  ['mcp__stinted__write', 'shell'],
])('%s, which a user has added to the matcher, counts as %s', (tool, use) => {
  expect(useOf(tool, Object.values(hosts))).toBe(use)
})

test('VS Code is recognized by its tools if it has no transcript; Gemini CLI and Copilot are not taken for it', () => {
  const { transcript_path: _, ...bare } = hookEvent('vscode', 'pre', { cwd: '/w', session: 's' })
  const senderOf = (json: Record<string, unknown>, env = {}) =>
    detectHost(json, { configured: 'claude', env })
  expect(senderOf(bare)).toBe('vscode')
  expect(senderOf({ ...bare, tool_name: 'bash' })).toBe('copilot')
  const start = hookEvent('vscode', 'start', { cwd: '/w', session: 's' })
  expect(senderOf(start)).toBe('vscode')
  expect(senderOf(start, { GEMINI_SESSION_ID: 's' })).toBe('gemini')
})
