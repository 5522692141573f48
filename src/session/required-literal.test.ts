import { expect, test } from 'vitest'
import { randomFrom } from '../testing/conformance-case.ts'
import { requiredLiteral } from './required-literal.ts'

test.each([
  [/timeout/, 'timeout'],
  [/error: (\d+|none) at line/, ' at line'],
  [/^error: .*$/, 'error: '],
  [/colou?r/, 'colo'],
  [/ab+cd/, 'ab'],
  [/(a|b)literal[xyz]end/, 'literal'],
  [/a{0,3}bcd/, 'bcd'],
  [/one\.two\/three/, 'one.two/three'],
  [/\x41\u0042\u{43}word/u, 'word'],
  [/say 😀?x/u, 'say '],
  [/say 😀?x/, 'say '],
  [/[)(|]after/, 'after'],
  [/\(a\|b\)/, '(a|b)'],
  [/(?<name>x)\k<name>yes/, 'yes'],
  [/no(?!not this one)/, 'no'],
  [/日本語+/, '日本語'],
])('every match of %s contains %j', (regex, literal) => {
  expect(requiredLiteral(regex)).toBe(literal)
})

test.each([[/one|two/], [/\d+/], [/(?:)/], [/[abc]/], [/x*/], [/Text/i], [/./]])(
  'nothing is certain about the matches of %s',
  (regex) => {
    expect(requiredLiteral(regex)).toBeUndefined()
  },
)

test('for any regular expression, what it matches contains the literal', () => {
  const random = randomFrom(7)
  const parts = ['a', 'b', 'ab', 'c?', 'a*', 'b+', '(a|b)', '[ab]', '.', String.raw`\.`, 'a{2}', 'b{0,1}']
  parts.push('(?:ba)?', '|', '^', '$', String.raw`\w`, '(c(a)b)', '[^c]', 'x??')
  const texts = Array.from({ length: 300 }, () =>
    Array.from({ length: random(9) }, () => 'abc.x'.charAt(random(5))).join(''),
  )
  let certain = 0
  for (let i = 0; i < 3000; i++) {
    const source = Array.from({ length: 1 + random(5) }, () => parts[random(parts.length)]).join('')
    let regex: RegExp
    try {
      regex = new RegExp(source)
    } catch {
      continue
    }
    const literal = requiredLiteral(regex)
    if (literal === undefined) continue
    certain += 1
    for (const text of texts) if (regex.test(text)) expect(text, source).toContain(literal)
  }
  expect(certain).toBeGreaterThan(500)
})
