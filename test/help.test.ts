import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { stintCommands } from '../src/cli/stint.ts'
import { commandHelp, groupHelp } from '../src/command/help.ts'
import { isGroup } from '../src/command/select.ts'
import { allCommands } from './support/all-commands.ts'
import { projectRoot } from './support/world.ts'

test('every command has a summary and examples', async () => {
  const commands = await allCommands(stintCommands, 'stint')
  expect(commands.length).toBeGreaterThan(40)
  for (const [called, { summary, examples }] of commands) {
    expect(summary, called).toBeTruthy()
    expect(examples?.length ?? 0, `examples of ${called}`).toBeGreaterThan(0)
    for (const [line] of examples ?? []) expect(line, `an example of ${called}`).toContain('stint')
  }
})

test('help fits into 80 columns, except for examples', async () => {
  for (const [called, target] of await allCommands(stintCommands, 'stint')) {
    const help = isGroup(target) ? groupHelp(target, called) : commandHelp(target, called)
    const typed = new Set(target.examples?.map(([line]) => `  ${line}`))
    const wide = help.split('\n').filter((line) => line.length > 80 && !typed.has(line))
    expect(wide, called).toEqual([])
  }
})

test('every command is documented', async () => {
  const pages = readdirSync(join(projectRoot, 'docs')).filter((name) => name.endsWith('.md'))
  const text = ['README.md', ...pages.map((name) => join('docs', name))]
    .map((path) => readFileSync(join(projectRoot, path), 'utf8'))
    .join('\n')
  const missing = (await allCommands(stintCommands, 'stint')).filter(([called]) => !text.includes(called))
  expect(missing.map(([called]) => called)).toEqual([])
})
