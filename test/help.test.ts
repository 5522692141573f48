import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { stintCommands } from '../src/cli/stint.ts'
import { commandHelp, groupHelp } from '../src/command/help.ts'
import { isGroup } from '../src/command/invocation.ts'
import { allCommands } from './support/all-commands.ts'
import { Terminal } from './support/terminal.ts'
import { projectRoot, World } from './support/world.ts'

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

test('stint --help fits on a screen of 24 lines with the everyday commands', async () => {
  await using world = new World()
  await using terminal = await Terminal.open(world)
  terminal.resize(80, 24)
  terminal.enter('clear; stint --help')
  await terminal.shows(new RegExp(`^${stintCommands.summary}\\n[^]*\\n\\[0\\] ready>$`))
  for (const name of stintCommands.everyday ?? []) expect(terminal.screen()).toMatch(`\n  ${name} `)
})

test('--help --all has a line of at most 80 columns for every command that can be called', async () => {
  await using world = new World()
  const { stdout } = await world.stint(['--help', '--all'])
  const rows = stdout.slice(stdout.indexOf('Commands:\n')).trimEnd().split('\n').slice(1)
  const commands = await allCommands(stintCommands, 'stint')
  const called = commands.filter(
    ([name, target]) => name !== 'stint' && (!isGroup(target) || target.defaultCommand !== undefined),
  )
  expect(rows.map((row) => row.trim().split(/ {2,}/)[0])).toEqual(
    called.map(([name]) => name.replace('stint ', '')),
  )
  expect(rows.filter((row) => row.length > 80)).toEqual([])
})

test('every everyday command is a command', async () => {
  const groups = (await allCommands(stintCommands, 'stint')).map(([, target]) => target).filter(isGroup)
  const missing = groups.flatMap(({ everyday = [], commands }) =>
    everyday.filter((name) => !(name in commands)),
  )
  expect(missing).toEqual([])
})

test('every command is documented', async () => {
  const pages = readdirSync(join(projectRoot, 'docs')).filter((name) => name.endsWith('.md'))
  const text = ['README.md', ...pages.map((name) => join('docs', name))]
    .map((path) => readFileSync(join(projectRoot, path), 'utf8'))
    .join('\n')
  const missing = (await allCommands(stintCommands, 'stint')).filter(([called]) => !text.includes(called))
  expect(missing.map(([called]) => called)).toEqual([])
})
