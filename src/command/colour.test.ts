import { expect, test } from 'vitest'
import { paintIf, wantsColour } from './colour.ts'

test.each([
  ['a terminal has colours', true, {}, true],
  ['a pipe has none', false, {}, false],
  ['a terminal that knows none has none', true, { TERM: 'dumb' }, false],
  ['NO_COLOR takes them away', true, { NO_COLOR: '1' }, false],
  ['an empty NO_COLOR says nothing', true, { NO_COLOR: '' }, true],
  ['FORCE_COLOR brings them into a pipe', false, { FORCE_COLOR: '1' }, true],
  ['FORCE_COLOR counts more than NO_COLOR, as in Node', false, { FORCE_COLOR: '1', NO_COLOR: '1' }, true],
  ['FORCE_COLOR=0 takes them away', true, { FORCE_COLOR: '0' }, false],
  ['an empty FORCE_COLOR says nothing', false, { FORCE_COLOR: '' }, false],
])('%s', (_, isTerminal, env, wanted) => {
  expect(wantsColour(isTerminal, env)).toBe(wanted)
})

test('text is set apart and the terminal left as it was, or the text left as it is', () => {
  expect(paintIf(true).red('x')).toBe('\x1b[31mx\x1b[39m')
  expect(paintIf(false).red('x')).toBe('x')
})
