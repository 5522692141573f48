import { afterEach, beforeEach, expect, test } from 'vitest'
import { World } from '../../test/support/world.ts'

let world: World
beforeEach(() => {
  world = new World({ STINT_OUTPUT: '' })
})
afterEach(() => world[Symbol.asyncDispose]())

test('help of a command is shown however it is requested', async () => {
  const { code, stdout } = await world.stint(['sessions', 'list', '--help'])
  expect(code).toBe(0)
  for (const line of ['help sessions list', 'sessions help list', '--help sessions list'])
    expect(await world.stint(line.split(' ')), line).toMatchObject({ code: 0, stdout, stderr: '' })
  const group = await world.stint(['help', 'sessions'])
  expect(group.stdout).toContain('stint sessions <command> [options]')
  expect((await world.stint(['help'])).stdout).toBe((await world.stint(['--help'])).stdout)
})

test('help of a misspelt command suggests the right one', async () => {
  const { code, stderr } = await world.stint(['help', 'sesions'])
  expect(stderr).toBe('stint: unknown command "sesions" (ARG_ERROR)\n  Did you mean stint sessions?\n')
  expect(code).toBe(2)
})

test('a group without a command: exit 2, and help on stderr', async () => {
  const { stdout: help } = await world.stint(['sessions', '--help'])
  expect(await world.stint(['sessions'])).toMatchObject({ code: 2, stdout: '', stderr: help })
})

test('--help --all lists every command of a group, and of the groups in it', async () => {
  const { stdout } = await world.stint(['--help', '--all'])
  expect(stdout).toMatch(/^ {2}lock acquire +claim a workspace or paths in it$/m)
  expect(stdout).toMatch(/^ {2}demo +see stint at work/m)
  for (const line of ['help --all', '-h --all', '--quiet --help --all'])
    expect(await world.stint(line.split(' ')), line).toMatchObject({ code: 0, stdout, stderr: '' })
  const sessions = await world.stint(['sessions', '--help', '--all'])
  expect(sessions.stdout).toMatch(/^ {2}prune +move old ones to the trash$/m)
})

test('-v prints the version, as --version does', async () => {
  const { stdout } = await world.stint(['--version'])
  expect(await world.stint(['-v'])).toMatchObject({ code: 0, stdout })
})

test('an error in a group starts with the name of the group; in JSON it is only an envelope', async () => {
  expect((await world.stint(['lock', 'acquir'])).stderr).toMatch(
    /^stint lock: unknown command .*\n {2}Did you mean stint lock acquire\?\n$/,
  )
  const { stderr, envelope } = await world.stint(['--json', 'lock'])
  expect(stderr).toBe('')
  expect(envelope().error).toMatchObject({
    code: 'ARG_ERROR',
    message: 'no command given',
    suggestion: expect.stringContaining('Commands: status, acquire,'),
  })
})

test('a common option may precede the command', async () => {
  expect(await world.stint(['--quiet', 'sweep'])).toMatchObject({ code: 0, stdout: '', stderr: '' })
  const { envelope } = await world.stint(['--json', 'run', '--', 'true'])
  expect(envelope()).toMatchObject({ ok: true, data: { exit_code: 0 } })
  const late = await world.stint(['--timeout', '50ms', '--grace=1s', '--json', 'run', '--', 'sleep', '60'])
  expect(late).toMatchObject({ code: 10 })
  expect(late.envelope().error).toMatchObject({ code: 'TIMEOUT' })
})

test('any other option before the command is refused with the place where it belongs', async () => {
  const { code, stderr } = await world.stint(['--dry-run', 'sweep'])
  expect(code).toBe(2)
  expect(stderr).toMatch(/unknown option --dry-run.*\n.*after its name: stint <command> --dry-run\n/)
  expect((await world.stint(['--verison'])).stderr).toMatch(/Did you mean stint --version\?/)
})

test('an unexpected argument is named once', async () => {
  const { stderr } = await world.stint(['demo', 'extra'])
  expect(stderr).toMatch(/^stint demo: unexpected argument "extra" \(ARG_ERROR\)\n/)
  const { envelope } = await world.stint(['status', 'extra', '--json'])
  expect(envelope().error).toMatchObject({ message: 'unexpected argument "extra"' })
})
