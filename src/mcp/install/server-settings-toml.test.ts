import fc from 'fast-check'
import { parse } from 'smol-toml'
import { expect, test } from 'vitest'
import { serverStart, tomlEntry, tomlServer } from './server-settings.ts'

const start = serverStart(['/usr/bin/node', '/opt/stint/stint.cjs'])
const server = tomlServer(start, { tool_timeout_sec: 3660 })
const pairs = 'command = "/usr/bin/node"\nargs = [ "/opt/stint/stint.cjs", "mcp" ]\n'
const ours = `[mcp_servers.stint]\n${pairs}`

const theirs = `# what I like
model = "best" # the best
notes = """
[mcp_servers.stint]
command = "not a table"
"""

[mcp_servers.other] # theirs
command = "other"
args = [
  "[x]", # ]
]
`

test('the table comes last, and every other byte stays', () => {
  const now = server.addTo(theirs)
  expect(now).toBe(`${theirs}\n[mcp_servers.stint]\ntool_timeout_sec = 3660\n${pairs}`)
  expect(server.isIn(now)).toBe(true)
  expect(server.addTo(now)).toBe(now)
  expect(server.removeFrom(now)).toBe(theirs)
})

test('an update changes only the start: other keys and options of the user stay', () => {
  const edited = `[mcp_servers . "stint"] # mine
args = ["/old/stint.cjs", "mcp", "--store", "files"] # which one
command = '/old/node'
enabled = true

[mcp_servers.stint.env]
A = "1"

[tui]
theme = "dark"
`
  const now = server.addTo(edited)
  expect(now.startsWith('\n[tui]\ntheme = "dark"\n\n[mcp_servers.stint]\n')).toBe(true)
  expect(tomlEntry(now)).toEqual({
    command: '/usr/bin/node',
    args: ['/opt/stint/stint.cjs', 'mcp', '--store', 'files'],
    enabled: true,
    env: { A: '1' },
  })
  expect(server.removeFrom(edited)).toBe('\n[tui]\ntheme = "dark"\n')
})

test('comments before the next table stay with it', () => {
  const text = `${ours}\n# the next\n[tui]\n`
  expect(server.removeFrom(text)).toBe('\n# the next\n[tui]\n')
})

test.each([
  [
    'a table of that name that starts another program',
    '[mcp_servers.stint]\ncommand = "npx"\nargs = ["stint", "mcp"]',
  ],
  ['a table of that name with an address', '[mcp_servers.stint]\nurl = "http://127.0.0.1:1"'],
])('%s is not touched', (_, text) => {
  expect(server.isIn(text)).toBe(false)
  expect(() => server.addTo(text)).toThrow(expect.objectContaining({ code: 'NAME_TAKEN' }))
})

test.each([
  ['invalid TOML', 'a = ', 'line 1, column'],
  ['all servers in one line', 'mcp_servers = { other = { command = "x" } }', 'line'],
  ['no table under the name', 'mcp_servers = 3', 'line'],
])('%s is refused', (_, text, message) => {
  const adding = (): string => server.addTo(text)
  expect(adding).toThrow(expect.objectContaining({ code: 'SETTINGS_INVALID' }))
  expect(adding).toThrow(message)
})

test.each([
  ['in one line', `mcp_servers.stint = { command = "/old/node", args = ["/old/stint.cjs", "mcp"] }\n`],
  ['by dotted keys', `[mcp_servers]\nstint.command = "/old/node"\nstint.args = ["/old/stint.cjs", "mcp"]\n`],
])('a server that is written %s is refused, and never half edited', (_, text) => {
  expect(server.isIn(text)).toBe(true)
  for (const act of [() => server.addTo(text), () => server.removeFrom(text)])
    expect(act).toThrow(expect.objectContaining({ code: 'SETTINGS_INVALID' }))
})

const key = fc.constantFrom('a', 'b-c', '"d e"', "'f.g'", '"h\\"i"')
const value = fc.constantFrom(
  '1',
  'true',
  '1979-05-27T07:32:00Z',
  '9007199254740993',
  '"[mcp_servers.stint] # \\" x"',
  "'''\n[mcp_servers.stint]\n'''",
  '"""\n[[x]] \\""" # "" \n"""""',
  '[\n  1, # ]\n  [2],\n]',
  '{ x = "}", y = [1] }',
)
const comment = fc.constantFrom('', ' # "a', "\t# '''")
const anyPairs = fc.uniqueArray(fc.tuple(key, value, comment), { selector: ([name]) => name, maxLength: 4 })
const tables = fc.uniqueArray(
  fc.tuple(
    fc.constantFrom('[x]', '[ y . "z" ]', '[[list]]', '[mcp_servers.other]', '[mcp_servers]'),
    anyPairs,
  ),
  { selector: ([header]) => header, maxLength: 4 },
)
const files = fc
  .tuple(
    anyPairs,
    tables,
    fc.constantFrom('\n', '\r\n'),
    fc.constantFrom('', '\n', '\n\n', '# end', '# end\n'),
  )
  .map(([first, rest, eol, end]) => {
    const lines = (list: readonly (readonly [string, string, string])[]): string[] =>
      list.map(([name, text, after]) => `${name} = ${text}${after}`)
    const all = [...lines(first), ...rest.flatMap(([header, inner]) => ['', header, ...lines(inner)])]
    return `${all.join('\n')}\n${end}`.replaceAll('\n', eol)
  })
  .filter((text) => text.trim() !== '')

test('in any file, the server is read back, and removing it leaves all else as it was', () => {
  fc.assert(
    fc.property(files, (text) => {
      const before = parse(text, { integersAsBigInt: 'asNeeded' })
      const now = server.addTo(text)
      expect(tomlEntry(now)).toEqual({ ...start, tool_timeout_sec: 3660 })
      expect(server.removeFrom(now)).toBe(
        text.replace(/([^\n])$/, `$1${text.includes('\r\n') ? '\r\n' : '\n'}`),
      )
      // Text after the table belongs to its user.
      const later = `${now}\n[later]\nx = 1\n`
      const left = parse(server.removeFrom(later), { integersAsBigInt: 'asNeeded' })
      expect({ mcp_servers: {}, ...left }).toEqual({ mcp_servers: {}, ...before, later: { x: 1 } })
    }),
    { numRuns: 300 },
  )
})
