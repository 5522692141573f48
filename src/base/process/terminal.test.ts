import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Terminal } from '../../../test/support/terminal.ts'
import { projectRoot, World } from '../../../test/support/world.ts'

const program = `
  import { isTerminal } from ${JSON.stringify(join(projectRoot, 'dist/base/process/terminal.js'))}
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
