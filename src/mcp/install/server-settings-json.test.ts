import fc from 'fast-check'
import { expect, test } from 'vitest'
import { jsonEntry, jsonServer, serverStart } from './server-settings.ts'

const start = serverStart(['/usr/bin/node', '/opt/stint/stint.cjs'])
const server = jsonServer(start, { type: 'stdio' })

test('the entry follows the others, and comments and layout stay', () => {
  const text = '{\n    // mine\n    "mcpServers": {\n        "other": {}\n    } // theirs\n}\n'
  const now = server.addTo(text)
  expect(now).toContain('"other": {},\n        "stint": {\n')
  expect(server.addTo(now)).toBe(now)
  expect(server.removeFrom(now)).toBe(text)
})

test('an update changes only the start: properties and options of the user stay', () => {
  const text = `{"mcpServers": {"stint": {
    "env": {"A": "1"},
    "command": "/old/node",
    "args": ["/old/stint.cjs", "mcp", "--store", "files"]
  }}}`
  const now = server.addTo(text)
  expect(jsonEntry(now)).toEqual({
    env: { A: '1' },
    command: '/usr/bin/node',
    args: ['/opt/stint/stint.cjs', 'mcp', '--store', 'files'],
  })
  expect(server.removeFrom(now)).toBe('{}')
})

test.each([
  ['npx', ['stint', 'mcp']],
  ['stint', ['mcp-other']],
  ['node', ['stint.cjs', 'mcp']],
])('a server of that name with the command %s %j is not touched', (command, args) => {
  const text = JSON.stringify({ mcpServers: { stint: { command, args } } })
  expect(server.isIn(text)).toBe(false)
  expect(() => server.addTo(text)).toThrow(expect.objectContaining({ code: 'NAME_TAKEN' }))
})

test.each([
  ['[]', 'not an object'],
  ['{"mcpServers": []}', '`mcpServers` is not an object'],
  ['{"mcpServers": ', 'line 1'],
])('%s is refused: %s', (text, message) => {
  const adding = (): string => server.addTo(text)
  expect(adding).toThrow(expect.objectContaining({ code: 'SETTINGS_INVALID' }))
  expect(adding).toThrow(message)
})

const names = fc.string().filter((name) => !['__proto__', 'stint', 'mcpServers'].includes(name))
const scalars = fc.oneof(fc.string(), fc.integer(), fc.constant(null))
const servers = fc.dictionary(names, fc.record({ command: fc.string() }), { maxKeys: 3 })
const layouts = fc.constantFrom<[indent: string | number, eol: string]>([0, '\n'], [2, '\n'], ['\t', '\r\n'])

test('in any file, the server is read back, and removing it leaves all else as it was', () => {
  fc.assert(
    fc.property(
      fc.dictionary(names, scalars, { maxKeys: 3 }),
      fc.option(servers, { nil: undefined }),
      layouts,
      (others, mcpServers, [indent, eol]) => {
        const settings = { ...others, ...(mcpServers && { mcpServers }) }
        fc.pre(Object.keys(settings).length > 0)
        const text = `${JSON.stringify(settings, undefined, indent).replaceAll('\n', eol)}${eol}`
        const now = server.addTo(text)
        const entry = { type: 'stdio', ...start }
        expect(JSON.parse(now)).toEqual({ ...settings, mcpServers: { ...mcpServers, stint: entry } })
        // An empty list of servers goes with the last of them.
        const isEmptyList = mcpServers !== undefined && Object.keys(mcpServers).length === 0
        if (isEmptyList) expect(JSON.parse(server.removeFrom(now))).toEqual(others)
        else expect(server.removeFrom(now)).toBe(text)
      },
    ),
    { numRuns: 300 },
  )
})
