import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { deadPid, plant } from '../../test/support/plant.ts'
import { Terminal } from '../../test/support/terminal.ts'
import { projectRoot, World } from '../../test/support/world.ts'
import { ownIdentity } from '../base/process/liveness.ts'
import { commandHelp } from './help.ts'
import { optionsOf, readInvocation } from './invocation.ts'
import { defineBareCommand, defineCommand } from './define-command.ts'

let world: World
beforeEach(() => {
  world = new World()
})
afterEach(() => world[Symbol.asyncDispose]())

test('--quiet leaves only the error and the exit code, also in a pipe', async () => {
  expect(await world.stint(['sweep', '--quiet'])).toMatchObject({ code: 0, stdout: '', stderr: '' })
  plant(world, { ...ownIdentity(), pid: deadPid })
  const { code, stdout, stderr } = await world.stint(['temp', 'check', '--wait', '0s', '--quiet'])
  expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
  expect(stderr).toMatch(/^stint temp check: dead runs have left 1 entry.*\(ORPHANS_FOUND\)\n.*sweep/)
})

test('--quiet hides stint’s warnings, but not the output of the program', async () => {
  const line = 'echo out; echo err >&2; exit 3'
  const { code, stdout, stderr } = await world.stint(['run', '--quiet', '--', 'sh', '-c', line])
  expect({ code, stdout, stderr }).toEqual({ code: 3, stdout: 'out\n', stderr: 'err\n' })
})

test('--quiet does not hide an envelope that was requested with --json', async () => {
  const { stdout, envelope } = await world.stint(['sweep', '--quiet', '--json'])
  expect(stdout).not.toBe('')
  expect(envelope()).toMatchObject({ ok: true })
})

test('--verbose prints to stderr the directories, the scratch, and how the run ended', async () => {
  const { stdout, stderr } = await world.stint(['run', '--verbose', '--', 'sh', '-c', 'echo $TMPDIR'])
  expect(stderr).toContain(`home ${world.env.STINT_HOME} (STINT_HOME)\n`)
  expect(stderr).toContain(`temp directory ${world.tmp} (STINT_TMP_ROOT)\n`)
  expect(stderr).toContain(`scratch ${stdout.trim()}\n`)
  expect(stderr).toMatch(/^stint run: \d+ ms: done, exit 0$/m)
})

test('--verbose leaves the envelope intact, and reports an invalid home', async () => {
  const env = { STINT_HOME: 'relative' }
  const { stderr, envelope } = await world.stint(['sweep', '--dry-run', '--verbose'], { env })
  expect(stderr).toContain('home none: STINT_HOME must be an absolute path')
  expect(envelope()).toMatchObject({ ok: true })
})

test('on a terminal, --quiet prints nothing, and --verbose more than the answer', async () => {
  await using terminal = await Terminal.open(world)
  terminal.enter('stint sweep --quiet; stint sweep --verbose')
  await terminal.shows(/done, exit 0\n\[0\] ready>$/)
  expect(terminal.screen().match(/removed|nothing/g)).toHaveLength(1)
})

const command = defineBareCommand({ name: 'tool', run: () => undefined })

test('--quiet and --verbose exclude each other', () => {
  expect(() => readInvocation(command, ['--quiet', '--verbose'])).toThrow(/exclude each other/)
})

test('a tool’s own --verbose, or its own parser, takes precedence', () => {
  const own = defineCommand({
    name: 'tool',
    options: { verbose: { type: 'count', help: 'how much' } },
    run: () => undefined,
  })
  const { verbose, args } = readInvocation(own, ['--verbose', '3', '--quiet'])
  expect({ verbose, args }).toMatchObject({ verbose: false, args: { options: { verbose: 3, quiet: true } } })
  expect(Object.keys(optionsOf(own))).toEqual(['verbose', 'quiet', 'timeout', 'grace', 'json', 'help'])
  expect(commandHelp(own)).toContain('how much')
  const parsing = defineCommand({ name: 'tool', parse: (argv: string[]) => argv, run: () => undefined })
  expect(readInvocation(parsing, ['--verbose', '--json', '-q']).args).toEqual(['--verbose', '-q'])
})

test('a command without a scratch has no --timeout and no --grace', async () => {
  expect(Object.keys(optionsOf(command))).toEqual(['quiet', 'verbose', 'json', 'help'])
  expect(() => readInvocation(command, ['--timeout', '5s'])).toThrow('unknown option --timeout')
  expect((await world.stint(['--grace', '1s', 'sweep', '--json'])).envelope().error).toMatchObject({
    message: 'unknown option --grace',
  })
})

test('the page about commands names every common option', () => {
  const page = readFileSync(join(projectRoot, 'docs/command.md'), 'utf8')
  const tool = defineCommand({ name: 'tool', options: {}, run: () => undefined })
  for (const name of Object.keys(optionsOf(tool))) expect(page).toContain(`\`--${name}`)
})

test('help shows which options are required and what the others default to, without asking for them', () => {
  const tool = defineCommand({
    name: 'tool',
    options: {
      to: { type: 'string', required: true, help: 'where' },
      level: { type: 'number', default: 3, help: 'how hard' },
      tags: { type: 'strings', default: ['a', 'b'], help: 'labels' },
    },
    run: () => undefined,
  })
  expect(readInvocation(tool, ['--help']).help).toBe(true)
  expect(() => readInvocation(tool, [])).toThrow('--to is missing')
  const help = commandHelp(tool)
  expect(help).toContain('where (required)')
  expect(help).toContain('how hard (default: 3)')
  expect(help).toContain('labels (default: a, b)')
})

test('a mistake on the command line points to the help of that command', async () => {
  const { envelope } = await world.stint(['sessions', 'list', 'extra', '--json'])
  const suggestion = 'Run `stint sessions list --help` to see what it takes.'
  expect(envelope()).toMatchObject({ error: { code: 'ARG_ERROR', suggestion } })
})
