import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Terminal } from '../../test/support/terminal.ts'
import { type Finished, projectRoot, World } from '../../test/support/world.ts'

/** A tool with the command `say`, and its `--json`, as a user of `stint/command` writes it. */
function writeTool(world: World, output: string): string {
  const path = join(world.tmp, 'tool.mjs')
  writeFileSync(
    path,
    `import { defineCommand, runMain } from ${JSON.stringify(join(projectRoot, 'dist/command/index.js'))}
    const say = defineCommand({ name: 'say', run: () => ({ word: 'hello' }), render: ({ word }, { columns }) => word + ' ' + columns })
    const commands = { say: { summary: 'says hello', load: async () => say } }
    await runMain({ name: 'tool', summary: 'A tool.', commands }, ${output})`,
  )
  return path
}

const run = (world: World, path: string, ...args: string[]): Promise<Finished> =>
  world.start(process.execPath, [path, ...args]).finished

test('a tool answers in a pipe with an envelope, whatever happens: no command, an unknown one, bad arguments', async () => {
  await using world = new World({ STINT_OUTPUT: '' })
  const tool = writeTool(world, '{}')
  expect((await run(world, tool, 'say')).envelope()).toMatchObject({ ok: true, data: { word: 'hello' } })
  for (const args of [[], ['sai'], ['say', '--lowd'], ['say', 'extra'], ['--lowd']]) {
    const finished = await run(world, tool, ...args)
    expect(finished.envelope()).toMatchObject({ ok: false, error: { code: 'ARG_ERROR' } })
    expect([finished.code, finished.stderr]).toEqual([2, ''])
  }
  expect((await run(world, tool, '--help')).stdout).toMatch(/^A tool\.\n/)
})

test('a tool with the output text prints envelopes only with --json', async () => {
  await using world = new World({ STINT_OUTPUT: '' })
  const tool = writeTool(world, "{ output: 'text' }")
  expect((await run(world, tool, 'say')).stdout).toBe('hello Infinity\n')
  expect(await run(world, tool, 'sai')).toMatchObject({ code: 2, stdout: '' })
  expect((await run(world, tool, 'say', '--json')).envelope().data).toEqual({ word: 'hello' })
  expect((await run(world, tool, 'sai', '--json')).envelope().error?.code).toBe('ARG_ERROR')
})

test('a tool without a command lists its commands once', async () => {
  await using world = new World({ STINT_OUTPUT: '' })
  const { stdout, stderr } = await run(world, writeTool(world, "{ output: 'text' }"))
  expect([stdout, stderr.match(/\bsay\b/g)]).toEqual(['', ['say']])
})

test('STINT_OUTPUT overrides what a tool does in a pipe, and on a terminal', async () => {
  await using world = new World({ STINT_OUTPUT: 'text' })
  const tool = writeTool(world, '{}')
  expect((await run(world, tool, 'say')).stdout).toBe('hello Infinity\n')
  await using terminal = await Terminal.open(world)
  terminal.enter('clear; node tool.mjs say; STINT_OUTPUT=json node tool.mjs say')
  await terminal.shows(/^hello 80\n\{"ok":true,"data":\{"word":"hello"\}/m)
})

test('a STINT_OUTPUT that is neither json nor text is refused', async () => {
  await using world = new World({ STINT_OUTPUT: 'yaml' })
  const { code, stderr } = await world.stint(['status'])
  expect([code, stderr]).toEqual([
    2,
    expect.stringContaining('STINT_OUTPUT is json or text, not "yaml" (ARG_ERROR)'),
  ])
})

test('the text of stint can be piped to other programs, uncut and without colours', async () => {
  await using world = new World({ STINT_OUTPUT: '' })
  const id = 'a-session-with-a-rather-long-id-that-a-terminal-would-have-to-cut'
  await world.stint(['sessions', 'append', id, '--create', '--type', 'x', '--quiet'])
  const list = await world.stint(['sessions', 'list', '--all'])
  // A session that only visitors wrote to is never closed.
  expect(list.stdout).toMatch(new RegExp(`^ID +STATE .*\n${id} +\\w+ `))
  const status = await world.stint(['status'])
  expect(status.stdout).toMatch(/^Home {8}.*\nTemp /)
  expect(status.stdout).not.toContain('\u001b')
  expect((await world.stint(['sessions', 'show', 'nothing'])).stdout).toBe('')
  expect((await world.stint(['status', '--json'])).envelope().ok).toBe(true)
  await using terminal = await Terminal.open(world)
  terminal.enter('clear; stint sessions list --all | grep -c rather-long')
  await terminal.shows(/^1\n\[0\]/m)
  terminal.enter('clear; stint status | less')
  await terminal.shows(/^Home {8}[^]*\n\(END\)$/m)
  terminal.press('q')
  await terminal.shows(/\[0\] ready>$/)
})

test('an error on a terminal is wrapped between words', async () => {
  await using world = new World()
  await using terminal = await Terminal.open(world)
  terminal.resize(40, 24)
  terminal.enter('clear; stint lock history --lines seven')
  await terminal.shows(/5000\.\n\[2\] ready>$/)
  expect(terminal.screen().split('\n').slice(0, 3)).toEqual([
    'stint lock history: --lines takes a',
    '  whole number, not "seven" (ARG_ERROR)',
    '  Write it as 0, 7 or 5000.',
  ])
})
