import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Terminal } from '../../test/support/terminal.ts'
import { projectRoot, World } from '../../test/support/world.ts'
import { paintIf, wantsColour } from './stdio.ts'

const program = `
  import { isTerminal } from ${JSON.stringify(join(projectRoot, 'dist/command/stdio.js'))}
  const isLoaded = () => process.moduleLoadList.includes('NativeModule tty')
  const before = isLoaded()
  console.error(await isTerminal(1), isLoaded() && !before ? 'asked' : 'known')
`

test('a terminal is told from a pipe, a file, /dev/null and a closed stdout, mostly without loading node:tty', async () => {
  await using world = new World()
  writeFileSync(join(world.tmp, 'ask.mjs'), program)
  await using terminal = await Terminal.open(world)
  const line = (redirection: string): string => `node ask.mjs ${redirection}`
  terminal.enter(['', '| cat', '> file', '> /dev/null', '>&-', '> /dev/tty'].map(line).join('; '))
  await terminal.shows(/\[0\] ready>$/)
  const answers = [
    'true asked',
    'false known',
    'false known',
    'false known',
    'false (asked|known)',
    'true asked',
  ]
  expect(terminal.screen()).toMatch(new RegExp(`^${answers.join('\n')}$`, 'm'))
})

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
