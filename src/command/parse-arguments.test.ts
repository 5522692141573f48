import fc from 'fast-check'
import { expect, test } from 'vitest'
import { StintError } from '../base/errors/stint-error.ts'
import { parseArguments } from './parse-arguments.ts'

const table = {
  flag: { type: 'boolean', short: 'f', help: '' },
  name: { type: 'string', short: 'n', help: '' },
  path: { type: 'strings', help: '' },
  wait: { type: 'duration', help: '' },
  mode: { type: 'string', choices: ['on', 'off'], help: '' },
} as const

test('every way to write an option', () => {
  const argv = [
    '--flag',
    '--name',
    'a',
    '--path=x',
    '--path',
    'y=z',
    '--wait',
    '5m',
    '--mode=on',
    'one',
    '-',
    '--',
    '--flag',
  ]
  expect(parseArguments(argv, table)).toEqual({
    options: { flag: true, name: 'a', path: ['x', 'y=z'], wait: 300_000, mode: 'on' },
    positionals: ['one', '-', '--flag'],
  })
  expect(parseArguments(['-f', '-n', '--odd'], table).options).toMatchObject({ flag: true, name: '--odd' })
})

test("from the first positional on, everything is somebody else's", () => {
  const parsed = parseArguments(['--flag', 'cmd', '--name', '--', 'x'], table, { stopAtPositional: true })
  expect(parsed).toMatchObject({
    options: { flag: true, name: undefined },
    positionals: ['cmd', '--name', '--', 'x'],
  })
})

test('another parser gets what is not in the table, in its order', () => {
  const parsed = parseArguments(['--other', 'v', '--flag', '-x', '--', '--name'], table, {
    passUnknown: true,
  })
  expect(parsed).toMatchObject({
    options: { flag: true },
    positionals: ['--other', 'v', '-x', '--', '--name'],
  })
})

test('whatever the arguments: parsed, or ARG_ERROR', () => {
  const word = fc.oneof(
    fc.string(),
    fc.constantFrom(
      '--',
      '-',
      '--flag',
      '--name',
      '--wait',
      '--mode',
      '--path=',
      '--__proto__',
      '--constructor',
      '-n',
    ),
  )
  fc.assert(
    fc.property(fc.array(word), fc.boolean(), fc.boolean(), (argv, stopAtPositional, passUnknown) => {
      try {
        parseArguments(argv, table, { stopAtPositional, passUnknown })
      } catch (error) {
        expect((error as StintError).code).toBe('ARG_ERROR')
      }
    }),
  )
})

test('sizes and counts are numbers, or refused with how to write them', () => {
  const table = { most: { type: 'size', help: '' }, files: { type: 'count', help: '' } } as const
  expect(parseArguments(['--most', '2MiB', '--files=12'], table).options).toEqual({
    most: 2 ** 21,
    files: 12,
  })
  expect(parseArguments([], table).options).toEqual({ most: undefined, files: undefined })
  expect(() => parseArguments(['--most', 'lots'], table)).toThrow('--most takes a size, not "lots"')
  expect(() => parseArguments(['--files', '-1'], table)).toThrow('--files takes a whole number, not "-1"')
})
