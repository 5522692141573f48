import fc from 'fast-check'
import { expect, test } from 'vitest'
import { AnchorSearch } from './anchor-search.ts'

const short = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'é', '\u3042'), minLength: 2, maxLength: 6 })
const long = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'é', '\u3042', ' '), maxLength: 200 })

test('exactly the anchors that the text contains are found, all in one pass', () => {
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

test('each of a thousand anchors is found', () => {
  const anchors = Array.from({ length: 1000 }, (_, index) => `anchor${index * 7919}x`)
  const search = new AnchorSearch(anchors)
  expect([...search.all(anchors.join(' '))]).toHaveLength(1000)
  expect(search.some('anchor and x and nothing else')).toBe(false)
})
