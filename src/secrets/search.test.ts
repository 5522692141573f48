import fc from 'fast-check'
import { expect, test } from 'vitest'
import { AnchorSearch } from './anchor-search.ts'
import { rewriteJson } from './rewrite-json.ts'
import { replaceSpans } from './spans.ts'

const short = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'é', '\u3042'), minLength: 2, maxLength: 6 })
const long = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'é', '\u3042', ' '), maxLength: 200 })

test('many anchors are found at once, exactly where each of them is', () => {
  fc.assert(
    fc.property(fc.uniqueArray(short, { maxLength: 12 }), long, (anchors, text) => {
      const search = new AnchorSearch(anchors)
      const expected = anchors.flatMap((anchor, index) => (text.includes(anchor) ? [index] : []))
      expect([...search.all(text)].sort((a, b) => a - b)).toEqual(expected)
      expect(search.some(text)).toBe(expected.length > 0)
    }),
    { numRuns: 2000 },
  )
})

test('a thousand anchors are found each', () => {
  const anchors = Array.from({ length: 1000 }, (_, index) => `anchor${index * 7919}x`)
  const search = new AnchorSearch(anchors)
  expect([...search.all(anchors.join(' '))]).toHaveLength(1000)
  expect(search.some('anchor and x and nothing else')).toBe(false)
})

test('JSON is rewritten in its strings, keys and numbers, and nowhere else', () => {
  const json = JSON.stringify({ a: ['x"', -1.5e300, 0, true, null, {}], 'k\\': { '': [] } })
  const seen: string[] = []
  const same = rewriteJson(json, (text) => {
    seen.push(text)
    return text
  })
  expect(same).toBe(json)
  expect(seen).toEqual(['a', 'x"', '-1.5e+300', '0', 'k\\', ''])
  expect(JSON.parse(rewriteJson(json, (text) => `${text}!`))).toEqual({
    'a!': ['x"!', '-1.5e+300!', '0!', true, null, {}],
    'k\\!': { '!': [] },
  })
})

test('whatever the value, JSON that nobody wants changed stays what it is', () => {
  fc.assert(
    fc.property(fc.json(), (json) => {
      const compact = JSON.stringify(JSON.parse(json))
      expect(rewriteJson(compact, (text) => text)).toBe(compact)
    }),
  )
})

test('keys that become the same stay apart, also from one that was there', () => {
  const json = rewriteJson('{"a":1,"s1":2,"X":3,"s2":{"s3":4,"X":5},"s4":6}', (text) =>
    text.replace(/^s\d$/, 'X'),
  )
  expect(json).toBe('{"a":1,"X":2,"X (2)":3,"X (3)":{"X":4,"X (2)":5},"X (4)":6}')
})

test('a value that is nested ten thousand deep is rewritten like any other', () => {
  const json = `${'{"k":['.repeat(10_000)}"s"${']}'.repeat(10_000)}`
  expect(rewriteJson(json, (text) => (text === 's' ? 'X' : text))).toBe(json.replace('"s"', '"X"'))
})

const named = (spans: [number, number, number?][], text: string) =>
  replaceSpans(
    text,
    spans.map(([start, end, owner]) => ({ start, end, owner })),
    ({ owner }) => `<${owner ?? 'look'}>`,
  )

test('spans that overlap become one, named after the secret that has most of it', () => {
  const text = 'abcdefghij'
  expect(
    named(
      [
        [6, 8, 1],
        [1, 3, 0],
      ],
      text,
    ),
  ).toBe('a<0>def<1>ij')
  expect(
    named(
      [
        [1, 4, 0],
        [3, 8, 1],
      ],
      text,
    ),
  ).toBe('a<1>ij')
  expect(
    named(
      [
        [1, 9],
        [3, 5, 1],
      ],
      text,
    ),
  ).toBe('a<1>j')
  expect(
    named(
      [
        [2, 5, 1],
        [0, 10],
      ],
      text,
    ),
  ).toBe('<1>')
  expect(
    named(
      [
        [0, 10, 0],
        [1, 2, 1],
        [4, 5, 1],
      ],
      text,
    ),
  ).toBe('<0>')
  expect(
    named(
      [
        [1, 2, 0],
        [2, 3, 1],
      ],
      text,
    ),
  ).toBe('a<0><1>defghij')
})

test('pieces of one secret become one, over the rest that base64 leaves between them, but not over words', () => {
  expect(
    named(
      [
        [0, 2, 0],
        [2, 4, 0],
        [7, 9, 0],
      ],
      'ppppQ+/pp.',
    ),
  ).toBe('<0>.')
  expect(
    named(
      [
        [0, 2, 0],
        [4, 6, 0],
      ],
      'pp, pp',
    ),
  ).toBe('<0>, <0>')
  expect(
    named(
      [
        [0, 2, 0],
        [7, 9, 0],
      ],
      'ppabcdepp',
    ),
  ).toBe('<0>abcde<0>')
  expect(
    named(
      [
        [0, 2, 0],
        [2, 4, 1],
      ],
      'ppqq',
    ),
  ).toBe('<0><1>')
})
