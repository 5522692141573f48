import { execFileSync } from 'node:child_process'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { anyCharacter } from '../../../test/support/any-character.ts'
import { shellWord, visibleText } from './escape.ts'

test('a shell parses any quoted string as the one word it was', () => {
  const texts = fc.array(fc.string({ unit: fc.constantFrom(...'ab \'"$`\\\n*?;%!~#=é🙂') }))
  fc.assert(
    fc.property(texts, (words) => {
      const script = `printf '%s\\0' x ${words.map(shellWord).join(' ')}`
      expect(execFileSync('sh', ['-c', script], { encoding: 'utf8' }).split('\0')).toEqual([
        'x',
        ...words,
        '',
      ])
    }),
    { numRuns: 50 },
  )
})

test('a plain word is not quoted', () => {
  for (const word of ['--flag=50%', 'a/b_c.d', 'me@host:x,y+z']) expect(shellWord(word)).toBe(word)
})

test('characters that a terminal would obey or hide are escaped', () => {
  expect(visibleText('a\u001b[31mb\nc\u202ed\u2028e\u009b')).toBe(
    String.raw`a\u001b[31mb\u000ac\u202ed\u2028e\u009b`,
  )
  expect(visibleText('é 🙂 ▁')).toBe('é 🙂 ▁')
  expect(visibleText('x'.repeat(1000), 10)).toBe(`${'x'.repeat(10)}…`)
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), (text) => {
      expect(visibleText(text)).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}]/u)
    }),
  )
})
