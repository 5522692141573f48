import { execFileSync } from 'node:child_process'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { anyCharacter } from '../../../test/support/any-character.ts'
import { shellWord, visibleAnswer, visibleJson, visibleLines, visibleText } from './escape.ts'

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

test('each character of the basic plane is escaped if a terminal would obey or hide it, and only then', () => {
  const characters = Array.from({ length: 0x10000 }, (_, code) => String.fromCharCode(code))
  const escaped = characters.filter((char) => visibleText(char) !== char)
  expect(escaped).toEqual(characters.filter((char) => /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(char)))
})

test('a message keeps its lines and tabs, and nothing else that a terminal would obey', () => {
  expect(visibleLines('a\n\tb\u001b]0;c\u0007\r\u007f\u009b2J')).toBe(
    String.raw`a${'\n\t'}b\u001b]0;c\u0007\u000d\u007f\u009b2J`,
  )
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), (text) => {
      expect(visibleLines(text).replaceAll(/[\n\t]/g, '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u)
    }),
  )
})

test('JSON for a terminal is the same value, without a character that a terminal would obey', () => {
  expect(visibleJson({ a: '\u009b2J\u007f\u202e' })).toBe(String.raw`{"a":"\u009b2J\u007f\u202e"}`)
  const obeyed = fc.constantFrom(...'\u001b\u007f\u0085\u009b\u009d\u061c\u200e\u202e\u2066\u2069')
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: fc.oneof(obeyed, anyCharacter) }), (value) => {
      const json = visibleJson(value)
      expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify(value)))
      expect(json).not.toMatch(/[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u)
    }),
  )
})

test('an answer keeps its colours, lines and tabs, and nothing else that a terminal would obey', () => {
  const obeyed = fc.constantFrom(...'\u001b[]0123;m\r\n\t\u0007\u009b\u202e')
  fc.assert(
    fc.property(fc.string({ unit: fc.oneof(obeyed, anyCharacter) }), (text) => {
      // oxlint-disable-next-line no-control-regex -- a colour is an escape sequence
      const rest = visibleAnswer(text).replaceAll(/\u001b\[[\d;]*m|\r?\n|\t/g, '')
      expect(rest).not.toMatch(/[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u)
    }),
  )
})
