import { expect, test } from 'vitest'
import { checkPositionals, checkRequired, parseArguments } from './parse-arguments.ts'

const table = {
  flag: { type: 'boolean', short: 'f', help: '' },
  name: { type: 'string', short: 'n', help: '' },
  path: { type: 'strings', help: '' },
  wait: { type: 'duration', help: '' },
  mode: { type: 'string', choices: ['on', 'off'], help: '' },
} as const

test('every way to write an option is read', () => {
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
    dashesAt: 2,
  })
})

test.each([[['-f', '-n', 'a']], [['-f', '-na']], [['-fn', 'a']], [['-fna']], [['-f', '-n=a']], [['-fn=a']]])(
  'short options can be joined to each other and to their value: %j',
  (argv) => {
    expect(parseArguments(argv, table)).toMatchObject({ options: { flag: true, name: 'a' }, positionals: [] })
  },
)

test.each([
  ['-fz', 'unknown option -fz'],
  ['-flag', 'unknown option -flag', 'Did you mean --flag?'],
  ['-f=yes', '-f takes no value'],
  ['--flag=yes', '--flag takes no value'],
  ['-fn', '-n needs a value'],
  ['--name', '--name needs a value'],
])('%s is refused: %s', (word, message, hint?: string) => {
  expect(() => parseArguments([word], table)).toThrow(
    expect.objectContaining({ message, ...(hint !== undefined && { hint }) }) as Error,
  )
})

test.each([
  ['--name', '--wait', '--name needs a value, and "--wait" looks like an option', 'write: --name=--wait'],
  ['-n', '-f', '-n needs a value, and "-f" looks like an option', 'write: --name=-f'],
  ['--name', '--other', '"--other" looks like an option', 'write: --name=--other'],
  ['--name', '--a b', '"--a b" looks like an option', "write: '--name=--a b'"],
  ['--wait', '--flag', '--wait needs a value, and "--flag" looks like an option', '5m'],
  ['--mode', '--flag', '--mode needs a value, and "--flag" looks like an option', 'on, off'],
  ['--name', '--', '--name needs a value', ''],
])('an option never takes the next option as its value: %s %s', (option, next, message, hint) => {
  expect(() => parseArguments([option, next, '1m'], table)).toThrow(
    expect.objectContaining({
      code: 'ARG_ERROR',
      message: expect.stringContaining(message) as string,
      hint: expect.stringContaining(hint) as string,
    }) as Error,
  )
})

test.each(['-', '-1', '-.5', '- not an option', '---', '-°', '-°-x', ''])(
  'a value may begin with a dash if it is not an option: %j',
  (value) => {
    expect(parseArguments(['--name', value], table).options.name).toBe(value)
    expect(parseArguments(['-n', value], table).options.name).toBe(value)
  },
)

test.each(['--wait', '-f', '--'])('after = any value is taken: %s', (value) => {
  expect(parseArguments([`--name=${value}`], table).options.name).toBe(value)
})

test('from the first positional on, everything belongs to another program', () => {
  const parsed = parseArguments(['--flag', 'cmd', '--name', '--', 'x'], table, { stopAtPositional: true })
  expect(parsed).toMatchObject({
    options: { flag: true, name: undefined },
    positionals: ['cmd', '--name', '--', 'x'],
  })
})

test('another parser gets the words that are not in the table, in order', () => {
  const parsed = parseArguments(['--other', 'v', '--flag', '-x', '--', '--name'], table, {
    passUnknown: true,
  })
  expect(parsed).toMatchObject({
    options: { flag: true },
    positionals: ['--other', 'v', '-x', '--', '--name'],
  })
})

test.each([
  [['-f-x', '--name', 'a'], 'unknown option -f-x'],
  [['-x'], 'unknown option -x'],
])('a dash between letters, and a long name after one dash, are unknown options: %j', (argv, message) => {
  const x = { type: 'string', help: '' } as const
  expect(() => parseArguments(argv, { ...table, x })).toThrow(message)
})

test('another parser gets a joined word whole, or not at all', () => {
  const argv = ['-xf', '-f-x', '--flag', '-f']
  expect(parseArguments(argv, table, { passUnknown: true }).positionals).toEqual(['-xf', '-f-x'])
})

test('another parser gets the word after one that is not in the table', () => {
  for (const word of ['-zn', '-x', '--other'])
    expect(
      parseArguments([word, 'v'], { ...table, x: table.name }, { passUnknown: true }).positionals,
    ).toEqual([word, 'v'])
})

test('sizes and counts become numbers, or are refused with a hint', () => {
  const table = { most: { type: 'size', help: '' }, files: { type: 'count', help: '' } } as const
  expect(parseArguments(['--most', '2MiB', '--files=12'], table).options).toEqual({
    most: 2 ** 21,
    files: 12,
  })
  expect(parseArguments([], table).options).toEqual({ most: undefined, files: undefined })
  expect(() => parseArguments(['--most', 'lots'], table)).toThrow('--most takes a size, not "lots"')
  expect(() => parseArguments(['--files', '-1'], table)).toThrow('--files takes a whole number, not "-1"')
})

test('a number may be negative, a fraction or have an exponent; anything else is refused', () => {
  const table = { by: { type: 'number', help: '' } } as const
  const read = (text: string): number | undefined => parseArguments(['--by', text], table).options.by
  expect(['7', '-1.5', '.5', '1e3', '+2'].map(read)).toEqual([7, -1.5, 0.5, 1000, 2])
  for (const text of ['', 'x', '1,5', '0x10', 'NaN', 'Infinity', '1e999', '1 2'])
    expect(() => read(text), text).toThrow(`--by takes a number, not ${JSON.stringify(text)}`)
})

test('an option that is not given has its default, and a list is replaced by what is given', () => {
  const table = {
    level: { type: 'number', default: 1.5, help: '' },
    wait: { type: 'duration', default: '5m', help: '' },
    tags: { type: 'strings', default: ['a', 'b'], help: '' },
    mode: { type: 'string', choices: ['on', 'off'], default: 'off', help: '' },
  } as const
  expect(parseArguments([], table).options).toEqual({
    level: 1.5,
    wait: 300_000,
    tags: ['a', 'b'],
    mode: 'off',
  })
  const given = parseArguments(
    ['--level=0', '--wait', '1s', '--tags', 'c', '--tags', 'd', '--mode=on'],
    table,
  )
  expect(given.options).toEqual({ level: 0, wait: 1000, tags: ['c', 'd'], mode: 'on' })
  expect(parseArguments([], table).options.tags).toEqual(['a', 'b'])
})

test('an option that is required must be given, and the refusal says how', () => {
  const table = {
    to: { type: 'string', value: 'DIR', required: true, help: '' },
    tags: { type: 'strings', required: true, help: '' },
  } as const
  const check = (...argv: string[]): void => checkRequired(parseArguments(argv, table).options, table)
  expect(() => check('--tags=a')).toThrow(
    expect.objectContaining({
      code: 'ARG_ERROR',
      message: '--to is missing',
      hint: 'Add --to DIR.',
    }) as Error,
  )
  expect(() => check('--to=x')).toThrow('--tags is missing')
  expect(() => check('--to=', '--tags=')).not.toThrow()
})

test.each<[usage: string | undefined, words: string[], problem: string | undefined]>([
  [undefined, [], undefined],
  [undefined, ['a'], 'unexpected argument "a"'],
  ['FILE', ['a'], undefined],
  ['FILE', [], 'FILE is missing'],
  ['FILE', ['a', 'b'], 'unexpected argument "b"'],
  ['FROM TO', ['a'], 'TO is missing'],
  ['[FILE]', [], undefined],
  ['[FILE]', ['a', 'b'], 'unexpected argument "b"'],
  ['FILE...', [], 'FILE is missing'],
  ['FILE…', ['a', 'b', 'c'], undefined],
  ['[FILE...]', [], undefined],
  ['NAME [FILE…]', [], 'NAME is missing'],
  ['NAME [FILE…]', ['a', 'b', 'c'], undefined],
  ['-- COMMAND [ARGUMENT…]', [], 'COMMAND is missing'],
  ['[CHANGES] [-- PATH…]', ['a', 'b', 'c'], undefined],
])('the usage %s takes %j: %s', (usage, words, problem) => {
  const check = (): void => checkPositionals(words, usage)
  if (problem === undefined) expect(check).not.toThrow()
  else expect(check).toThrow(expect.objectContaining({ code: 'ARG_ERROR', message: problem }) as Error)
})
