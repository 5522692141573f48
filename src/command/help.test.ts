import { expect, test } from 'vitest'
import { Terminal } from '../../test/support/terminal.ts'
import { World } from '../../test/support/world.ts'
import { defineCommand } from './define-command.ts'
import { commandHelp, twoColumns } from './help.ts'

test('the right column is wrapped below itself, and starts on the next line if the left one is too wide', () => {
  const rows = [
    ['--one', 'what the first of them does, and why'],
    ['--three', 'little'],
  ] as const
  expect(twoColumns(rows, 39)).toEqual([
    '--one    what the first of them does,',
    '         and why',
    '--three  little',
  ])
  expect(twoColumns([...rows, ['--seventeen', 'much']], 39).slice(-2)).toEqual([
    '--seventeen',
    '         much',
  ])
  expect(twoColumns(rows, 24)).toEqual([
    '--one',
    '    what the first of',
    '    them does, and why',
    '--three',
    '    little',
  ])
  expect(twoColumns([], 80)).toEqual([])
})

test('help in Chinese or Japanese is aligned and wrapped by display width', () => {
  const tool = defineCommand({
    name: 'tool',
    options: { 名前: { type: 'string', value: 'N', help: '日本語 '.repeat(12).trim() } },
    run: () => undefined,
  })
  expect(commandHelp(tool, 'tool', 60).split('\n').slice(2, 7)).toEqual([
    'Options:',
    `  --名前 N     ${'日本語 '.repeat(6).trim()}`,
    `               ${'日本語 '.repeat(6).trim()}`,
    '  --quiet      print nothing but errors',
    '  --verbose    print to stderr which directories are used,',
  ])
})

test('help on a terminal is as wide as the terminal', async () => {
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
