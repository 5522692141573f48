import fc from 'fast-check'
import { expect, test } from 'vitest'
import { rewriteJson } from './gate.ts'

test('strings, keys and numbers are rewritten, and nothing else', () => {
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

test('a rewrite that changes no string leaves any JSON as it is', () => {
  fc.assert(
    fc.property(fc.json(), (json) => {
      const compact = JSON.stringify(JSON.parse(json))
      expect(rewriteJson(compact, (text) => text)).toBe(compact)
    }),
  )
})

test('keys that become equal stay distinct, also from keys that were there before', () => {
  const json = rewriteJson('{"a":1,"s1":2,"X":3,"s2":{"s3":4,"X":5},"s4":6}', (text) =>
    text.replace(/^s\d$/, 'X'),
  )
  expect(json).toBe('{"a":1,"X":2,"X (2)":3,"X (3)":{"X":4,"X (2)":5},"X (4)":6}')
})

test('a value nested ten thousand levels deep is rewritten', () => {
  const json = `${'{"k":['.repeat(10_000)}"s"${']}'.repeat(10_000)}`
  expect(rewriteJson(json, (text) => (text === 's' ? 'X' : text))).toBe(json.replace('"s"', '"X"'))
})
