import { expect, test } from 'vitest'
import { paintIf, wantsColour } from './context.ts'

test.each([
  ['a terminal has colours', true, {}, true],
  ['a pipe has none', false, {}, false],
  ['a dumb terminal has none', true, { TERM: 'dumb' }, false],
  ['NO_COLOR turns them off', true, { NO_COLOR: '1' }, false],
  ['an empty NO_COLOR is ignored', true, { NO_COLOR: '' }, true],
  ['FORCE_COLOR turns them on in a pipe', false, { FORCE_COLOR: '1' }, true],
  ['FORCE_COLOR wins over NO_COLOR, as in Node', false, { FORCE_COLOR: '1', NO_COLOR: '1' }, true],
  ['FORCE_COLOR=0 turns them off', true, { FORCE_COLOR: '0' }, false],
  ['an empty FORCE_COLOR is ignored', false, { FORCE_COLOR: '' }, false],
])('%s', (_, isTerminal, env, wanted) => {
  expect(wantsColour(isTerminal, env)).toBe(wanted)
})

test('a string is coloured and the colour reset after it, or it stays as it is', () => {
  expect(paintIf(true).red('x')).toBe('\x1b[31mx\x1b[39m')
  expect(paintIf(false).red('x')).toBe('x')
})
