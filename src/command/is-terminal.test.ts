import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Terminal } from '../../test/support/terminal.ts'
import { projectRoot, World } from '../../test/support/world.ts'

const ask = `
  import { isTerminal } from ${JSON.stringify(join(projectRoot, 'dist/command/is-terminal.js'))}
  const loaded = () => process.moduleLoadList.includes('NativeModule tty')
  const before = loaded()
  console.error(await isTerminal(1), loaded() && !before ? 'asked' : 'known')
`

test('a terminal is one; a pipe, a file, /dev/null and nothing at all are none, and mostly known without asking', async () => {
  await using world = new World()
  const program = join(world.tmp, 'ask.mjs')
  writeFileSync(program, ask)
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
