import fc from 'fast-check'
import { parse } from 'jsonc-parser'
import { expect, test } from 'vitest'
import { StintError } from '../../base/errors/stint-error.ts'
import { addProperty, append, removeAt, replaceAt } from './json-edit.ts'

const group = { matcher: 'Edit', hooks: [{ type: 'command', command: 'x' }] }

test('an appended entry follows the layout of the file', () => {
  const text = `{\n    // mine\n    "hooks": {\n        "PreToolUse": [\n            {"matcher": "A"} // first\n        ]\n    }\n}\n`
  expect(append(text, ['hooks', 'PreToolUse'], { matcher: 'B' })).toBe(
    `{\n    // mine\n    "hooks": {\n        "PreToolUse": [\n            {"matcher": "A"}, // first\n            {\n                "matcher": "B"\n            }\n        ]\n    }\n}\n`,
  )
})

test('tabs and CRLF are kept', () => {
  const text = '{\r\n\t"model": "x"\r\n}\r\n'
  const now = append(text, ['hooks', 'Stop'], 1)
  expect(now).toBe(
    '{\r\n\t"model": "x",\r\n\t"hooks": {\r\n\t\t"Stop": [\r\n\t\t\t1\r\n\t\t]\r\n\t}\r\n}\r\n',
  )
  expect(removeAt(now, ['hooks'])).toBe(text)
})

test.each([
  ['{}', '{\n  "hooks": [\n    1\n  ]\n}'],
  ['{\n}\n', '{\n  "hooks": [\n    1\n  ]\n}\n'],
  ['{"a":1}', '{"a":1,"hooks":[1]}'],
  ['{"hooks":[]}', '{"hooks":[1]}'],
  ['{\n  "hooks": []\n}', '{\n  "hooks": [\n    1\n  ]\n}'],
  ['{\n  "hooks": [0]\n}', '{\n  "hooks": [0, 1]\n}'],
  ['{\n  "hooks": [\n    0,\n  ],\n}', '{\n  "hooks": [\n    0,\n    1,\n  ],\n}'],
  ['{\n  "a": 1, /* , */\n}', '{\n  "a": 1, /* , */\n  "hooks": [\n    1\n  ],\n}'],
  ['{\n  // nothing yet\n}', '{\n  // nothing yet\n  "hooks": [\n    1\n  ]\n}'],
])('appending to %j gives %j', (text, expected) => {
  expect(append(text, ['hooks'], 1)).toBe(expected)
})

test.each([
  ['{"a": [1, 2, 3]}', 0, '{"a": [2, 3]}'],
  ['{"a": [1, 2, 3]}', 1, '{"a": [1, 3]}'],
  ['{"a": [1, 2, 3]}', 2, '{"a": [1, 2]}'],
  ['{"a": [\n  1, // one\n  2\n]}', 0, '{"a": [ // one\n  2\n]}'],
  ['{"a": [\n  1, // one\n  2\n]}', 1, '{"a": [\n  1 // one\n]}'],
  ['{"a": [\n  // of 1\n  1\n]}', 0, '{"a": [\n  // of 1\n]}'],
  ['{"a": [\n  1,\n]}', 0, '{"a": []}'],
])('from %j, item %i is removed', (text, index, expected) => {
  expect(removeAt(text, ['a', index])).toBe(expected)
})

test('the last of two properties with the same name is edited, as readers of the file use that one', () => {
  expect(append('{"a": [1], "a": [2]}', ['a'], 3)).toBe('{"a": [1], "a": [2,3]}')
})

test('a value is replaced in place', () => {
  expect(replaceAt('{\n  "a": {"b": 1}, // c\n  "d": 2\n}', ['a'], { b: 2 })).toBe(
    '{\n  "a": {"b":2}, // c\n  "d": 2\n}',
  )
  expect(addProperty('{\n  "a": 1\n}', [], 'version', 1)).toBe('{\n  "a": 1,\n  "version": 1\n}')
})

test.each([
  ['{"a": }', 1, 7],
  ['', 1, 1],
  ['{\n  "a": 1\n', 3, 1],
  ['{"a": 1} x', 1, 10],
])('%j is refused, with line and column', (text, line, column) => {
  const appending = () => append(text, ['hooks'], 1)
  expect(appending).toThrow(StintError)
  expect(appending).toThrow(`line ${line}, column ${column}`)
})

/** Layouts of JSON: indentation, line ends, comments, trailing commas, one line or many. */
const layouts = fc.record({
  indent: fc.constantFrom('', ' ', '  ', '    ', '\t'),
  eol: fc.constantFrom('\n', '\r\n'),
  comment: fc.constantFrom('', ' // a, b', ' /* ] } */'),
  trailing: fc.boolean(),
  oneLine: fc.boolean(),
})
type Style = typeof layouts extends fc.Arbitrary<infer S> ? S : never

function lay(value: unknown, style: Style, depth = 0): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const items = Array.isArray(value)
    ? value.map((item) => lay(item, style, depth + 1))
    : Object.entries(value).map(([name, item]) => `${JSON.stringify(name)}: ${lay(item, style, depth + 1)}`)
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  if (items.length === 0) return `${open}${close}`
  if (style.oneLine) return `${open}${items.join(', ')}${close}`
  const { indent, eol, comment, trailing } = style
  const lines = items.map((item, index) => {
    const comma = index < items.length - 1 || trailing ? ',' : ''
    return `${indent.repeat(depth + 1)}${item}${comma}${comment}`
  })
  return [open, ...lines, `${indent.repeat(depth)}${close}`].join(eol)
}

const scalars = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null))
/** `parse` of jsonc-parser, which reads the result back, loses a property of that name. */
const names = fc.string().filter((name) => name !== '__proto__')
const settings = fc.record({
  other: fc.dictionary(names, scalars, { maxKeys: 3 }),
  hooks: fc.dictionary(fc.constantFrom('PreToolUse', 'Stop', 'Other'), fc.array(scalars, { minLength: 1 }), {
    maxKeys: 3,
  }),
})

test('in any layout, an appended value is read back, and removing it restores the file to the byte', () => {
  fc.assert(
    fc.property(settings, layouts, fc.constantFrom('PreToolUse', 'Stop'), (value, style, event) => {
      const text = lay(value, style)
      const now = append(text, ['hooks', event], group)
      const items = (value.hooks[event] ?? []) as unknown[]
      expect(parse(now)).toEqual({ ...value, hooks: { ...value.hooks, [event]: [...items, group] } })
      const made = event in value.hooks ? [event, items.length] : [event]
      expect(removeAt(now, ['hooks', ...made])).toBe(text)
    }),
    { numRuns: 500 },
  )
})
