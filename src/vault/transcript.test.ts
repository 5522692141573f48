import { expect, test } from 'vitest'
import { entriesOf, exportedEntries, summaryOf } from './transcript.ts'

const at = Date.parse('2026-11-18T07:05:25Z')
const timestamp = '2026-11-18T07:05:25Z'
const line = (fields: object): string => JSON.stringify({ timestamp, ...fields })
const call = { at, who: 'assistant', tool: 'Bash', text: '{"command":"ls"}' }

test.each<[agent: string, fields: object, entries: object[]]>([
  [
    'Claude Code',
    { type: 'user', message: { role: 'user', content: 'hi' } },
    [{ at, who: 'user', text: 'hi' }],
  ],
  [
    'Claude Code',
    {
      type: 'assistant',
      message: {
        role: 'assistant',
        content: [
          { type: 'text', text: 'yes' },
          { type: 'tool_use', name: 'Bash', input: { command: 'ls' } },
        ],
      },
    },
    [{ at, who: 'assistant', text: 'yes' }, call],
  ],
  [
    'Claude Code',
    {
      type: 'user',
      message: {
        role: 'user',
        content: [{ type: 'tool_result', content: [{ type: 'text', text: 'a.txt' }] }],
      },
    },
    [{ at, who: 'tool', text: 'a.txt' }],
  ],
  ['Claude Code', { type: 'api-request-blob', message: { role: 'user', content: 'internal' } }, []],
  [
    'Codex',
    {
      type: 'response_item',
      payload: { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] },
    },
    [{ at, who: 'user', text: 'hi' }],
  ],
  [
    'Codex',
    { type: 'response_item', payload: { type: 'message', role: 'developer', content: [{ text: 'x' }] } },
    [],
  ],
  [
    'Codex',
    {
      type: 'response_item',
      payload: { type: 'function_call', name: 'Bash', arguments: '{"command":"ls"}' },
    },
    [call],
  ],
  [
    'Codex',
    { type: 'response_item', payload: { type: 'function_call_output', output: 'a.txt' } },
    [{ at, who: 'tool', text: 'a.txt' }],
  ],
  ['Codex', { type: 'event_msg', payload: { type: 'user_message', message: 'hi' } }, []],
  [
    'Gemini',
    {
      id: '1',
      type: 'gemini',
      content: 'yes',
      toolCalls: [{ name: 'Bash', args: { command: 'ls' }, result: [{ text: 'a.txt' }] }],
    },
    [{ at, who: 'assistant', text: 'yes' }, call, { at, who: 'tool', text: 'a.txt' }],
  ],
  ['Gemini', { $set: { lastUpdated: 'x' } }, []],
  [
    'Qwen Code',
    { type: 'user', message: { role: 'user', parts: [{ text: 'hi' }] } },
    [{ at, who: 'user', text: 'hi' }],
  ],
  [
    'Qwen Code',
    {
      type: 'assistant',
      message: { role: 'model', parts: [{ functionCall: { name: 'Bash', args: { command: 'ls' } } }] },
    },
    [call],
  ],
  ['Copilot', { type: 'user.message', data: { content: 'hi' } }, [{ at, who: 'user', text: 'hi' }]],
  [
    'Copilot',
    { type: 'tool.execution_start', data: { toolName: 'Bash', arguments: { command: 'ls' } } },
    [call],
  ],
])('%s: %j', (_, fields, entries) => {
  expect(entriesOf(line(fields))).toEqual(entries)
})

test.each([
  '',
  'no JSON',
  '[1]',
  'null',
  '{"type":7,"message":{"content":[null,1,{}]}}',
  '{"type":"user","message":{"content":{"a":1}}}',
  '{"torn":',
])('a line that is not understood is left out: %j', (text) => {
  expect(entriesOf(text)).toEqual([])
})

test('an export of OpenCode has its messages', () => {
  const parts = [
    { type: 'text', text: 'hi' },
    { type: 'tool', tool: 'bash', state: { input: { command: 'ls' }, output: 'a.txt' } },
  ]
  expect(
    exportedEntries(JSON.stringify({ messages: [{ info: { role: 'user', time: { created: at } }, parts }] })),
  ).toEqual([
    { at, who: 'user', text: 'hi' },
    { at, who: 'assistant', tool: 'bash', text: '{"command":"ls"}' },
    { at, who: 'tool', text: 'a.txt' },
  ])
})

test('the title is the first prompt of the person, and not what the agent puts before it', () => {
  const prompt = (text: string): string =>
    line({ type: 'user', cwd: '/a "b"', message: { role: 'user', content: text } })
  const before = ['<environment_context>x', '# AGENTS.md instructions for /a', 'Caveat: The messages below …']
  const head = [...before, 'tidy\n  up', 'later'].map(prompt).join('\n')
  expect(summaryOf('claude', head)).toEqual({ title: 'tidy up', workspace: '/a "b"' })
  expect(summaryOf('claude', `${head.slice(0, 40)}`)).toEqual({})
})
