import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Terminal } from '../../test/support/terminal.ts'
import { World } from '../../test/support/world.ts'
import { columns, wrap } from './wrap.ts'

test('a text is broken between words, and loses none', () => {
  const text = fc.array(fc.stringMatching(/^[a-z]{1,12}$/), { minLength: 1 }).map((words) => words.join(' '))
  fc.assert(
    fc.property(text, fc.integer({ min: 1, max: 60 }), (text, width) => {
      const lines = wrap(text, width)
      expect(lines.join(' ')).toBe(text)
      for (const line of lines) expect(line.length <= width || !line.includes(' ')).toBe(true)
    }),
  )
})

test('a second column goes on below itself, and begins on the next line where the first is too long', () => {
  const rows = [
    ['--one', 'what the first of them does, and why'],
    ['--three', 'little'],
  ] as const
  expect(columns(rows, 39)).toEqual([
    '--one    what the first of them does,',
    '         and why',
    '--three  little',
  ])
  expect(columns([...rows, ['--seventeen', 'much']], 39).slice(-2)).toEqual(['--seventeen', '         much'])
  expect(columns(rows, 24)).toEqual([
    '--one',
    '    what the first of',
    '    them does, and why',
    '--three',
    '    little',
  ])
  expect(columns([], 80)).toEqual([])
})

test('on a terminal help is as wide as that', async () => {
  await using world = new World()
  await using terminal = await Terminal.open(world)
  terminal.resize(60, 200)
  terminal.enter('clear; stint sweep --help')
  await terminal.shows(/Examples:[^]*\[0\] ready>$/)
  const lines = terminal.screen().split('\n')
  expect(lines.some((line) => line.length > 50)).toBe(true)
  for (const line of lines) expect(line.length <= 60 || line.startsWith('  stint '), line).toBe(true)
  expect(terminal.screen()).toMatch(/\n {2}--dry-run .*\n/)
})
