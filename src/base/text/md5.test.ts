import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { anyCharacter } from '../../../test/support/any-character.ts'
import { md5 } from './md5.ts'

test('MD5 agrees with node:crypto for any string', () => {
  const theirs = (text: string) => createHash('md5').update(text, 'utf8').digest('hex')
  for (let length = 0; length < 200; length++)
    expect(md5('a'.repeat(length))).toBe(theirs('a'.repeat(length)))
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, maxLength: 300 }), (text) => {
      expect(md5(text)).toBe(theirs(text))
    }),
  )
})
