import { execFileSync } from 'node:child_process'
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { anyCharacter } from '../../test/support/any-character.ts'
import { World } from '../../test/support/world.ts'
import { readLastLines } from './fs/regular-file.ts'
import { parseObject } from './text/fields.ts'
import { visibleText } from './text/escape.ts'

test('whole lines only, of the end of the file; no link, no FIFO, nothing missing', async () => {
  await using world = new World()
  const file = join(world.tmp, 'lines')
  writeFileSync(file, 'one\ntwo\nthree\nto')
  expect(readLastLines(file)).toEqual(['one', 'two', 'three'])
  expect(readLastLines(file, 12)).toEqual(['two', 'three'])
  expect(readLastLines(file, 11)).toEqual(['three'])
  symlinkSync(file, join(world.tmp, 'link'))
  execFileSync('mkfifo', [join(world.tmp, 'fifo')])
  for (const name of ['link', 'fifo', 'missing', '.'])
    expect(readLastLines(join(world.tmp, name))).toEqual([])
})

test('a line is an object or nothing', () => {
  expect(parseObject('{"a":1}')).toEqual({ a: 1 })
  for (const line of ['', '{"a":', '1', '[]', 'null', '"text"', '\0'])
    expect(parseObject(line)).toBeUndefined()
})

test('nothing that a terminal would obey or hide is shown', () => {
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
