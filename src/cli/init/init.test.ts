import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { contentOf, HookUser } from '../../../test/support/hook-user.ts'
import { Terminal } from '../../../test/support/terminal.ts'
import { type Finished, stintBin, until } from '../../../test/support/world.ts'

interface InitAnswer {
  steps: { name: string; path: string; is_due: boolean; is_done: boolean; error: object | null }[]
  trial: { level: string }[]
  data: { path: string; contents: string } | null
  next: string[]
}

const hooksOfUser = { Stop: [{ hooks: [{ type: 'command', command: 'say done' }] }] }
const ownSettings = `${JSON.stringify({ model: 'opus', hooks: hooksOfUser }, null, 2)}\n`

/** A user with two agents, settings of their own, and a conversation. */
class User extends HookUser {
  readonly home = join(this.tmp, 'home')
  readonly conversation = randomUUID()

  constructor() {
    super()
    const projects = join(this.user, '.claude/projects/-project')
    for (const path of [projects, join(this.user, '.codex')]) mkdirSync(path, { recursive: true })
    writeFileSync(this.file('claude'), ownSettings)
    writeFileSync(join(projects, `${this.conversation}.jsonl`), '{"type":"user"}\n')
    this.env.SHELL = '/bin/bash'
  }

  init(...args: string[]): Promise<Finished> {
    return this.stint(['init', ...args], { cwd: this.project })
  }

  async answer(...args: string[]): Promise<InitAnswer> {
    const finished = await this.init(...args, '--json')
    if (finished.code !== 0) throw new Error(finished.stdout)
    return finished.envelope().data as InitAnswer
  }
}

let user: User
beforeEach(() => {
  user = new User()
})
afterEach(() => user[Symbol.asyncDispose]())

const completion = '.local/share/bash-completion/completions/stint'

test('init puts hooks in, copies conversations, sets completion up and tries the hooks', async () => {
  const { steps, trial, next } = await user.answer('--yes')
  expect(steps.map(({ name, path, error }) => [name, path, error])).toEqual([
    ['hooks', user.file('claude'), null],
    ['hooks', user.file('codex'), null],
    ['points', join(user.home, 'points'), null],
    ['vault', join(user.home, 'vault'), null],
    ['completion', join(user.user, completion), null],
  ])
  expect(user.read(user.file('claude'))).toContain('--wait 20s')
  expect(existsSync(join(user.home, 'vault/claude', user.conversation))).toBe(true)
  expect(user.read(join(user.user, completion))).toContain('complete ')
  expect(trial.map(({ level }) => level)).toContain('ok')
  // There is no Codex to ask on this machine.
  expect(next.join('\n')).toContain('/hooks')
})

test('a second time changes nothing', async () => {
  await user.answer('--yes')
  const before = contentOf(user.user)
  const { steps } = await user.answer()
  expect(steps.filter(({ is_due }) => is_due)).toEqual([])
  expect(contentOf(user.user)).toEqual(before)
  const { stdout } = await user.stint(['init'], { cwd: user.project, env: { STINT_OUTPUT: '' } })
  expect(stdout).toMatch(/^Everything is in place already\.$/m)
})

test('a dry run names every file in plain words, and changes nothing', async () => {
  const before = contentOf(user.tmp)
  const { code, stdout } = await user.stint(['init', '--dry-run'], {
    cwd: user.project,
    env: { STINT_OUTPUT: '' },
  })
  expect(code).toBe(0)
  for (const part of [
    '~/.claude/settings.json',
    '~/.codex/hooks.json',
    `~/${completion}`,
    'secrets included',
  ])
    expect(stdout).toContain(part)
  expect(stdout).toMatch(/copy 1 conversation into \S*vault/)
  expect(contentOf(user.tmp)).toEqual(before)
})

test('--remove takes everything back but the data, and says where that is; --purge deletes it', async () => {
  const before = contentOf(user.user)
  await user.answer('--yes')
  const { steps, data } = await user.answer('--remove', '--yes')
  expect(steps.map(({ name }) => name)).toEqual(['hooks', 'hooks', 'completion'])
  const { '.local': _local, '.local/share': _share, ...after } = contentOf(user.user)
  expect(after).toEqual(before)
  expect(JSON.parse(user.read(user.file('claude')))).toEqual(JSON.parse(ownSettings))
  expect(data).toMatchObject({ path: user.home, contents: expect.stringContaining('1 conversation') })
  expect((await user.answer('--remove')).steps).toEqual([])
  expect((await user.answer('--remove', '--purge', '--yes')).data).toBeNull()
  expect(existsSync(user.home)).toBe(false)
})

test('data is not deleted while a session works', async () => {
  const running = user.startStint(['run', '--lock', '--', 'sh', '-c', 'echo up; exec sleep 1000'], {
    cwd: user.project,
  })
  await until('it runs', () => running.output().stdout.includes('up'))
  const { code, stdout } = await user.init('--remove', '--purge', '--yes')
  expect(code).toBe(3)
  expect(stdout).toContain('SESSION_LOCKED')
  expect(existsSync(user.home)).toBe(true)
})

test('on a terminal it asks once, and no means that nothing changes', async () => {
  symlinkSync(stintBin, join(user.bin, 'stint'))
  const before = contentOf(user.user)
  await using terminal = await Terminal.open(user)
  terminal.resize(80, 30)
  terminal.enter(`clear; HOME=${user.user} stint init`)
  await terminal.shows(/Go ahead\? \[y\/N\]/)
  terminal.enter('n')
  await terminal.shows(/\[1\] ready>$/)
  expect(contentOf(user.user)).toEqual(before)
  terminal.enter(`clear; HOME=${user.user} stint init`)
  await terminal.shows(/Go ahead\? \[y\/N\]/)
  terminal.enter('y')
  await terminal.shows(/^Next$[^]*\[0\] ready>$/m)
  expect(user.read(user.file('claude'))).toContain('stint-hook')
})

test('without a terminal it needs --yes, and a mistake is refused before anything happens', async () => {
  const before = contentOf(user.user)
  for (const [args, message] of [
    [[], 'needs --yes where there is no terminal'],
    [['--purge', '--yes'], '--purge goes with --remove only'],
    [['--remove', '--mcp', '--yes'], 'leave --timer, --mcp and --keep-ignored out'],
    [['--yes', '--keep-ignored', '../.env'], 'names no files'],
    [['--yes', '--keep-ignored', 'secrets/'], 'names no files'],
    [['--yes', '--keep-ignored', ''], 'names no files'],
  ] as const) {
    const { code, stdout } = await user.init(...args)
    expect(code).toBe(2)
    expect(stdout).toContain(message)
  }
  expect(contentOf(user.user)).toEqual(before)
})

test('a settings file that cannot be read is reported, and the other agents are set up', async () => {
  writeFileSync(user.file('codex'), '{"hooks": [')
  const finished = await user.init('--yes', '--json')
  expect(finished.code).toBe(3)
  expect(finished.stdout).toContain('SETTINGS_INVALID')
  expect(user.read(user.file('claude'))).toContain('stint-hook')
  expect(user.read(user.file('codex'))).toBe('{"hooks": [')
})

test('--mcp adds the server, and --remove takes it back', async () => {
  await user.answer('--yes', '--mcp')
  expect(readFileSync(join(user.user, '.claude.json'), 'utf8')).toContain('"stint"')
  await user.answer('--remove', '--yes')
  expect(existsSync(join(user.user, '.claude.json'))).toBe(false)
})

test('--keep-ignored makes restore points keep .env, once, and --remove takes it back', async () => {
  const patterns = join(user.home, 'points/keep-ignored')
  const keep = ['--keep-ignored', '.env*', '--keep-ignored', '*.local']
  await user.answer('--yes', ...keep)
  expect(user.read(patterns)).toBe('.env*\n*.local\n')
  const again = [await user.answer(), await user.answer(...keep)]
  expect(again.flatMap(({ steps }) => steps.filter(({ is_due }) => is_due))).toEqual([])
  await user.answer('--yes', '--keep-ignored', '*.key')
  expect(user.read(patterns)).toBe('.env*\n*.local\n*.key\n')

  await user.git('init', '-q')
  writeFileSync(join(user.project, '.gitignore'), '.env\n')
  writeFileSync(join(user.project, '.env'), 'KEY=1\n')
  await user.stint(['run', '--lock', '--', 'rm', '.env'], { cwd: user.project })
  const undone = await user.stint(['undo', '--yes'], { cwd: user.project })
  expect(undone.code).toBe(0)
  expect(user.read(join(user.project, '.env'))).toBe('KEY=1\n')

  const { steps } = await user.answer('--remove', '--yes')
  expect(steps.map(({ name }) => name)).toContain('points')
  expect(existsSync(patterns)).toBe(false)
})

test('the line in .zshrc is appended behind a link, and taken out again', async () => {
  user.env.SHELL = '/usr/bin/zsh'
  const rc = join(user.user, 'dotfiles-zshrc')
  writeFileSync(rc, 'setopt autocd')
  symlinkSync(rc, join(user.user, '.zshrc'))
  await user.answer('--yes')
  expect(user.read(rc)).toMatch(/^setopt autocd\n.*stint completion zsh.*\n$/)
  await user.answer('--remove', '--yes')
  expect(user.read(rc)).toBe('setopt autocd\n')
})

test('without an agent, it says so', async () => {
  await using other = new HookUser()
  const { code, stdout } = await other.stint(['init', '--yes'], { cwd: other.project })
  expect(code).not.toBe(0)
  expect(stdout).toContain('no agent was found here')
})
