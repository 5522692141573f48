import { execFileSync } from 'node:child_process'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { shellWord } from './escape.ts'

test('a shell reads any text back as the one word it was', () => {
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

test('a plain word stays as it is', () => {
  for (const word of ['--flag=50%', 'a/b_c.d', 'me@host:x,y+z']) expect(shellWord(word)).toBe(word)
})
