import fc from 'fast-check'
import { parse } from 'jsonc-parser'
import { expect, test } from 'vitest'
import { StintError } from '../../base/errors/stint-error.ts'
import { removeProperty, setProperty } from './json-edit.ts'

test('tabs and CRLF are kept', () => {
  const text = '{\r\n\t"model": "x"\r\n}\r\n'
  const now = setProperty(text, 'hooks', { Stop: [1] })
  expect(now).toBe(
    '{\r\n\t"model": "x",\r\n\t"hooks": {\r\n\t\t"Stop": [\r\n\t\t\t1\r\n\t\t]\r\n\t}\r\n}\r\n',
  )
  expect(removeProperty(now, 'hooks')).toBe(text)
})

test.each([
  ['{}', '{\n  "hooks": [\n    1\n  ]\n}'],
  ['{\n}\n', '{\n  "hooks": [\n    1\n  ]\n}\n'],
  ['{"a":1}', '{"a":1,"hooks":[1]}'],
  ['{"hooks":[]}', '{"hooks":[1]}'],
  ['{\n  "hooks": [0], // c\n  "a": 1\n}', '{\n  "hooks": [\n    1\n  ], // c\n  "a": 1\n}'],
  ['{\n    "a": 1, /* , */\n}', '{\n    "a": 1, /* , */\n    "hooks": [\n        1\n    ],\n}'],
  ['{\n  "a": 1 // one\n}', '{\n  "a": 1, // one\n  "hooks": [\n    1\n  ]\n}'],
  ['{\n  // nothing yet\n}', '{\n  // nothing yet\n  "hooks": [\n    1\n  ]\n}'],
  ['{"hooks": 1, "hooks": 2}', '{"hooks": 1, "hooks": [1]}'],
])('setting a property in %j gives %j', (text, expected) => {
  expect(setProperty(text, 'hooks', [1])).toBe(expected)
})

test.each([
  ['{"a": 1, "b": 2, "c": 3}', '{"b": 2, "c": 3}'.replace('{', '{ ')],
  ['{"b": 2, "a": 1}', '{"b": 2}'],
  ['{\n  "a": 1, // one\n  "b": 2\n}', '{ // one\n  "b": 2\n}'],
  ['{\n  "b": 2, // two\n  "a": 1\n}', '{\n  "b": 2 // two\n}'],
  ['{\n  // of a\n  "a": 1\n}', '{\n  // of a\n}'],
  ['{\n  "a": 1,\n}', '{}'],
  ['{"b": 2}', '{"b": 2}'],
])('from %j, the property is removed: %j', (text, expected) => {
  expect(removeProperty(text, 'a')).toBe(expected)
})

test('a value with a comment is not replaced', () => {
  expect(() => setProperty('{"hooks": [ // mine\n]}', 'hooks', [1])).toThrow('has a comment in it')
})

test.each([
  ['{"a": }', 1, 7],
  ['', 1, 1],
  ['{\n  "a": 1\n', 3, 1],
  ['{"a": 1} x', 1, 10],
])('%j is refused, with line and column', (text, line, column) => {
  const setting = () => setProperty(text, 'hooks', 1)
  expect(setting).toThrow(StintError)
  expect(setting).toThrow(`line ${line}, column ${column}`)
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
const names = fc.string().filter((name) => name !== '__proto__' && name !== 'hooks')

test('in any layout, a new property is read back, and removing it restores the file to the byte', () => {
  fc.assert(
    fc.property(
      fc.dictionary(names, scalars, { maxKeys: 3 }),
      layouts,
      fc.jsonValue(),
      (value, style, hooks) => {
        const text = lay(value, style)
        const now = setProperty(text, 'hooks', hooks)
        expect(JSON.stringify(parse(now))).toBe(JSON.stringify({ ...value, hooks }))
        expect(removeProperty(now, 'hooks')).toBe(text)
      },
    ),
    { numRuns: 500 },
  )
})
