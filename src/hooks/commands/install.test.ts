import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { parse } from 'jsonc-parser'
import { expect, test } from 'vitest'
import { hookBin } from '../../../test/support/hook-host.ts'
import { validEnvelope } from '../../../test/support/envelope.ts'
import { contentOf, hookAgents, HookUser } from '../../../test/support/hook-user.ts'
import { isRoot, openToAll, projectRoot, stintBin } from '../../../test/support/world.ts'
import type { SettingsAgentName } from '../hosts/host.ts'
import { hosts } from '../hosts/hosts.ts'
import { hostSettings } from '../install/agents.ts'
import { shortPath } from '../../cli/text/format.ts'

/** Writes a settings file and creates its directories. */
function plant(path: string, content: string | Buffer): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
}

const mine = '{\n  // mine\n  "model": "best"\n}\n'

/** The events that are registered without --record. */
const usualEvents = (agent: SettingsAgentName) => hosts[agent].events.filter(({ forRecord }) => !forRecord)

test.each(hookAgents)(
  '%s: every event of the host is registered, and uninstall leaves nothing',
  async (agent) => {
    await using world = new HookUser()
    mkdirSync(join(world.user, `.${agent}`))
    expect(await world.change('install', agent)).toMatchObject([
      { agent, place: 'user', outcome: 'installed' },
    ])
    const { hooks } = parse(world.read(world.file(agent))) as { hooks: Record<string, unknown[]> }
    expect(Object.keys(hooks)).toEqual(usualEvents(agent).map(({ name }) => name))
    for (const [list] of Object.values(hooks)) expect(JSON.stringify(list)).toContain(`${hookBin} ${agent}`)
    expect(statSync(world.file(agent)).mode & 0o777).toBe(0o600)
    expect(await world.change('uninstall', agent)).toMatchObject([{ agent, outcome: 'removed' }])
    expect(existsSync(world.file(agent))).toBe(false)
    expect(readdirSync(dirname(world.file(agent)))).toEqual([])
  },
)

test('events that change no claim are registered only with --record', async () => {
  await using world = new HookUser()
  mkdirSync(join(world.user, '.claude'))
  await world.change('install', 'claude', '--record')
  expect(world.read(world.file('claude'))).toContain('PostToolUseFailure')
  await world.change('uninstall', 'claude')
  await world.change('install', 'claude')
  expect(world.read(world.file('claude'))).not.toContain('PostToolUseFailure')
})

test('--subagents apart also registers the end of subagents; `together` removes that again', async () => {
  await using world = new HookUser()
  mkdirSync(join(world.user, '.claude'))
  const names = () =>
    Object.keys((parse(world.read(world.file('claude'))) as { hooks: Record<string, unknown[]> }).hooks)
  const usual = usualEvents('claude').map(({ name }) => name)
  await world.change('install', 'claude', '--subagents', 'apart', '--no-prompts')
  expect(names()).toEqual([...usual, 'SubagentStop'])
  expect(world.read(world.file('claude'))).toContain('claude --subagents apart --no-prompts')
  await world.change('install', 'claude', '--subagents', 'together')
  expect(names()).toEqual(usual)
  expect(await world.change('uninstall', 'claude')).toMatchObject([{ outcome: 'removed' }])
})

test('installing again keeps the options of the installation, and changes only those that are named', async () => {
  await using world = new HookUser()
  await world.git('init')
  const agents = ['claude', 'opencode', 'git']
  const choices = async (): Promise<unknown> => {
    const { hooks } = (await world.hook(['status'])).envelope().data as { hooks: { choices: unknown }[] }
    return hooks.map((hook) => hook.choices)
  }
  await world.change('install', ...agents, '--fail-closed', '--wait', '9s', '--hold', 'session')
  const first = await choices()
  expect(first).toMatchObject([
    { failClosed: true, waitMs: 9000, hold: 'session' },
    { failClosed: true, waitMs: 9000, hold: 'session' },
    { failClosed: true },
  ])
  for (const { outcome } of await world.change('install', ...agents)) expect(outcome).toBe('unchanged')
  expect(await choices()).toEqual(first)
  await world.change('install', 'claude', 'opencode', '--wait', '20s', '--scope', 'paths')
  const second = { failClosed: true, hold: 'session', scope: 'paths' }
  expect(await choices()).toEqual([second, second, { failClosed: true }])
  await world.change('uninstall')
  await world.change('install', ...agents)
  expect(await choices()).toEqual([{}, {}, {}])
})

test('options that an agent does not use are named in a warning, and are not stored', async () => {
  await using world = new HookUser()
  await world.git('init')
  const options = ['--subagents', 'apart', '--no-prompts', '--wait', '0', '--fail-closed']
  const finished = await world.hook(['install', 'claude', 'gemini', 'opencode', 'git', ...options])
  expect(finished.envelope().warnings).toEqual([
    'Gemini CLI does not use --subagents',
    'OpenCode does not use --subagents, --no-prompts',
    'git does not use --subagents, --wait, --no-prompts',
  ])
  const { hooks } = (await world.hook(['status'])).envelope().data as { hooks: { choices: unknown }[] }
  const refusing = { waitMs: 0, failClosed: true }
  expect(hooks.map(({ choices }) => choices)).toEqual([
    { ...refusing, subagents: 'apart', prompts: false },
    { ...refusing, prompts: false },
    refusing,
    { failClosed: true },
  ])
  expect((await world.hook(['install', 'git'])).envelope().warnings).toEqual([])
})

test.each([
  { given: [], flag: ' --wait 20s', limitMs: 33_000 },
  { given: ['--wait', '2m'], flag: ' --wait 2m', limitMs: 133_000 },
  { given: ['--wait', '0'], flag: ' --wait 0s', limitMs: 13_000 },
])(
  'install $given: the command before a tool call waits, and its time limit fits, in the unit of its agent',
  async ({ given, flag, limitMs }) => {
    await using world = new HookUser()
    await world.change('install', ...hookAgents, ...given)
    for (const agent of hookAgents) {
      const { property, unitMs } = hostSettings[agent].timeout
      const { hooks } = parse(world.read(world.file(agent))) as { hooks: Record<string, unknown[]> }
      for (const { name, kind } of usualEvents(agent)) {
        const text = JSON.stringify(hooks[name])
        const limit = { pre: limitMs, stop: 13_000 }[kind as string] ?? 3000
        expect(text).toContain(`"${property}":${limit / unitMs}`)
        expect(text.includes(flag)).toBe(kind === 'pre')
      }
    }
  },
)

test('--wait 11m is too long, and nothing is installed', async () => {
  await using world = new HookUser()
  expect((await world.hook(['install', 'claude', '--wait', '11m'])).code).toBe(2)
  expect(existsSync(world.file('claude'))).toBe(false)
})

/** Where hooks alone were in a container, it goes with them, and so does a file in which nothing else is. */
test.each<[what: string, content: string | Buffer, left?: string]>([
  ['comments', mine],
  ['trailing commas', '{\n  "a": [1,],\n}\n'],
  ['CRLF', '{\r\n    "a": 1\r\n}\r\n'],
  ['a byte order mark', '\uFEFF{\n  "a": 1\n}\n', '{\n  "a": 1\n}\n'],
  ['one line', '{"a":1,"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x"}]}]}}'],
  ['no line break at its end', '{\n\t"a": 1\n}'],
  ['only a comment', '{\n  // mine\n}\n'],
  [
    'empty lists',
    '{\n  "hooks": { "Other": [ ], "Stop": [] }\n}\n',
    '{\n  "hooks": {\n    "Other": []\n  }\n}\n',
  ],
  ['text in many scripts', '{\n  "язык": "日本語 🙂"\n}\n'],
])(
  'a file with %s: installing twice changes nothing more, and uninstall leaves all that is not of stint',
  async (_, content, left) => {
    await using world = new HookUser()
    const path = world.file('claude')
    plant(path, content)
    chmodSync(path, 0o640)
    expect(await world.change('install', 'claude')).toMatchObject([{ outcome: 'installed' }])
    const once = readFileSync(path)
    if (once.includes('\r\n')) expect(once.toString().replaceAll('\r\n', '')).not.toContain('\n')
    expect(await world.change('install', 'claude')).toMatchObject([{ outcome: 'unchanged' }])
    expect(readFileSync(path)).toEqual(once)
    expect(readdirSync(dirname(path))).toEqual(['settings.json'])
    await world.change('uninstall', 'claude')
    expect(world.read(path)).toBe(left ?? content)
    expect(statSync(path).mode & 0o777).toBe(0o640)
  },
)

test.each([
  ['nothing in it', ''],
  ['only blanks', ' \n\n'],
  ['an empty object', '{}'],
  ['an odd empty object', '{ \n\n }\n\n'],
  ['an empty object of hooks', '{"hooks": {}}'],
])('a file with %s: uninstall removes it, as it has no setting', async (_, content) => {
  await using world = new HookUser()
  plant(world.file('claude'), content)
  await world.change('install', 'claude')
  await world.change('uninstall', 'claude')
  expect(readdirSync(dirname(world.file('claude')))).toEqual([])
})

test('going back to the default of every option gives the first command again', async () => {
  await using world = new HookUser()
  await world.change('install', 'codex')
  const first = world.read(world.file('codex'))
  const options = ['--scope', 'paths', '--hold', 'session', '--subagents', 'apart', '--wait', '9s']
  await world.change('install', 'codex', ...options)
  expect(world.read(world.file('codex'))).not.toBe(first)
  const defaults = ['--scope', 'workspace', '--hold', 'turn', '--subagents', 'together', '--wait', '20s']
  await world.change('install', 'codex', ...defaults)
  expect(world.read(world.file('codex'))).toBe(first)
  expect(await world.onTerminal('hook status codex')).toMatch(/^Codex +installed +\S+\s*$/m)
})

test('edits after the installation are kept by an update and by uninstall', async () => {
  await using world = new HookUser()
  const path = world.file('claude')
  plant(path, mine)
  await world.change('install', 'claude')
  writeFileSync(path, world.read(path).replace('"best"', '"other"').replace('// mine', '// mine, edited'))
  expect(await world.change('install', 'claude', '--scope', 'paths')).toMatchObject([{ outcome: 'updated' }])
  expect(world.read(path)).toContain('claude --scope paths')
  expect(await world.change('uninstall')).toMatchObject([{ agent: 'claude', outcome: 'removed' }])
  expect(world.read(path)).toBe('{\n  // mine, edited\n  "model": "other"\n}\n')
  expect(readdirSync(dirname(path))).toEqual(['settings.json'])
})

test('settings that the agent has rewritten are kept, and only the hooks are removed', async () => {
  await using world = new HookUser()
  const path = world.file('gemini')
  await world.change('install', 'gemini')
  const rewritten = { ...(JSON.parse(world.read(path)) as object), theme: 'dark' }
  writeFileSync(path, JSON.stringify(rewritten))
  await world.change('uninstall')
  expect(JSON.parse(world.read(path))).toEqual({ theme: 'dark' })
})

test('a file that the installation created is removed if it contains nothing else', async () => {
  await using world = new HookUser()
  mkdirSync(join(world.user, '.cursor'))
  await world.change('install', 'cursor')
  writeFileSync(world.file('cursor'), `${world.read(world.file('cursor'))}\n\n`)
  await world.change('uninstall')
  expect(readdirSync(join(world.user, '.cursor'))).toEqual([])
})

test('a file that the installation created stays if it contains anything else', async () => {
  await using world = new HookUser()
  mkdirSync(join(world.user, '.cursor'))
  await world.change('install', 'cursor')
  writeFileSync(world.file('cursor'), world.read(world.file('cursor')).replace('{', '{\n  "__proto__": [],'))
  await world.change('uninstall')
  expect(world.read(world.file('cursor'))).toContain('"__proto__": []')
})

test('settings behind a link: the target changes, the link stays', async () => {
  await using world = new HookUser()
  const path = world.file('claude')
  const dotfile = join(world.user, 'dotfiles/claude.json')
  plant(dotfile, mine)
  mkdirSync(dirname(path))
  symlinkSync('../dotfiles/claude.json', path)
  const before = contentOf(world.user)
  await world.change('install', 'claude')
  expect(lstatSync(path).isSymbolicLink()).toBe(true)
  expect(world.read(dotfile)).toContain('stint-hook.cjs claude')
  await world.change('uninstall')
  expect(contentOf(world.user)).toEqual(before)
})

test.each(['', '{}\n', '{"hooks": {}}\n'])(
  'a link to the settings %j keeps its target after uninstall',
  async (text) => {
    await using world = new HookUser()
    const path = world.file('claude')
    const dotfile = join(world.user, 'dotfiles/claude.json')
    plant(dotfile, text)
    mkdirSync(dirname(path))
    symlinkSync('../dotfiles/claude.json', path)
    await world.change('install', 'claude')
    await world.change('uninstall')
    expect(lstatSync(path).isSymbolicLink()).toBe(true)
    expect(JSON.parse(world.read(path))).toEqual({})
  },
)

test('a linked directory and a link to a link: uninstall removes the file, and empties the one behind the link', async () => {
  await using world = new HookUser()
  mkdirSync(join(world.user, 'dotfiles'))
  symlinkSync('dotfiles', join(world.user, '.claude'))
  mkdirSync(join(world.user, '.gemini'))
  symlinkSync('../second', world.file('gemini'))
  symlinkSync('dotfiles/gemini.json', join(world.user, 'second'))
  plant(join(world.user, 'dotfiles/gemini.json'), '{}\n')
  await world.change('install', 'claude', 'gemini')
  expect(readdirSync(join(world.user, 'dotfiles')).sort()).toEqual(['gemini.json', 'settings.json'])
  await world.change('uninstall')
  expect(readdirSync(join(world.user, 'dotfiles'))).toEqual(['gemini.json'])
  expect(JSON.parse(world.read(world.file('gemini')))).toEqual({})
  expect((await world.hook(['status'])).envelope().data).toMatchObject({ hooks: [] })
})

test.each<[what: string, content: string | Buffer]>([
  ['invalid JSON', '{"a": }'],
  ['half of a file', '{"hooks": {"PreToolUse": ['],
  ['something else under hooks', '{"hooks": "none"}'],
  ['a list under hooks', '{"hooks": []}'],
  ['an object under an event', '{"hooks": {"PreToolUse": {}}}'],
  ['a list', '[]'],
  ['lists in lists without end', `{"hooks": ${'['.repeat(100_000)}`],
  ['bytes that are not UTF-8', Buffer.from([0x7b, 0xff, 0x7d])],
  ['UTF-16', Buffer.from('\uFEFF{}', 'utf16le')],
])('a file with %s is refused, and unchanged', async (_, content) => {
  await using world = new HookUser()
  plant(world.file('claude'), content)
  const before = contentOf(world.user)
  const { code, stderr, ...finished } = await world.hook(['install', 'claude'])
  expect(finished.envelope().error).toMatchObject({
    code: 'SETTINGS_INVALID',
    message: expect.stringContaining(world.file('claude')),
  })
  expect([code, stderr]).toEqual([4, ''])
  expect(contentOf(world.user)).toEqual(before)
})

test('a directory in place of the file, or a file in place of its directory, is refused', async () => {
  await using world = new HookUser()
  mkdirSync(world.file('claude'), { recursive: true })
  writeFileSync(join(world.user, '.codex'), '')
  for (const agent of ['claude', 'codex'])
    expect((await world.hook(['install', agent])).envelope().error?.code).toBe('SETTINGS_INVALID')
})

test('a link that leads nowhere is refused, and stays', async () => {
  await using world = new HookUser()
  mkdirSync(dirname(world.file('claude')), { recursive: true })
  symlinkSync('missing', world.file('claude'))
  expect((await world.hook(['install', 'claude'])).envelope().error?.code).toBe('SETTINGS_INVALID')
  expect(readlinkSync(world.file('claude'))).toBe('missing')
})

test('a read-only file is not changed', async () => {
  await using world = new HookUser()
  plant(world.file('claude'), mine)
  chmodSync(world.file('claude'), 0o444)
  const before = contentOf(world.user)
  const { code, ...finished } = await world.hook(['install', 'claude'])
  expect([code, finished.envelope().error?.code]).toEqual([7, 'PERMISSION_DENIED'])
  expect(contentOf(world.user)).toEqual(before)
})

test.runIf(isRoot)('a file of another user is not changed', async () => {
  await using world = new HookUser(openToAll)
  plant(world.file('claude'), mine)
  const nobody = 65_534
  const home = world.env.STINT_HOME ?? ''
  mkdirSync(home, { mode: 0o700 })
  for (const path of [home, world.user, dirname(world.file('claude'))]) chownSync(path, nobody, nobody)
  chmodSync(world.tmp, 0o755)
  const as = { uid: nobody, gid: nobody, cwd: world.user }
  const { code, ...finished } = await world.stint(['hook', 'install', 'claude', '--json'], as)
  expect([code, finished.envelope().error?.code]).toEqual([7, 'PERMISSION_DENIED'])
  expect([world.read(world.file('claude')), readdirSync(dirname(world.file('claude')))]).toEqual([
    mine,
    ['settings.json'],
  ])
})

test('a read-only home directory: the error names the settings file that cannot be written', async () => {
  await using world = new HookUser()
  const script = `mount -t tmpfs tmpfs "$HOME"; mkdir "$HOME/.claude"; eval "$2"; mount -o remount,ro "$HOME"
    "$0" "$1" hook install claude --json`
  for (const before of [':', 'echo {} > "$HOME/.claude/settings.json"']) {
    const args = ['-c', script, process.execPath, stintBin, before]
    const { stdout } = await world.unshare(['--mount'], 'sh', args)
    expect(validEnvelope(stdout).error).toMatchObject({
      code: 'READ_ONLY',
      message: `cannot write ${world.file('claude')}: EROFS`,
      suggestion: 'Make it writable, or install the hooks elsewhere (--user, --project).',
    })
  }
})

test('a broken file of one agent does not keep the others from their hooks', async () => {
  await using world = new HookUser()
  plant(world.file('claude'), 'not JSON')
  plant(world.file('gemini'), '{}')
  const { code, ...finished } = await world.hook(['install'])
  const { error, data } = finished.envelope()
  expect([code, error?.code]).toEqual([3, 'PARTIAL_FAILURE'])
  expect(data).toMatchObject({
    hooks: [{ agent: 'gemini', outcome: 'installed' }],
    failures: [{ agent: 'claude', code: 'SETTINGS_INVALID', path: world.file('claude') }],
  })
  expect(world.read(world.file('claude'))).toBe('not JSON')
  const read = await world.onTerminal('hook install')
  expect(read).toContain(
    `Gemini CLI: already installed in ${shortPath(world.file('gemini'), world.env.HOME)}`,
  )
  expect(read).toContain('SETTINGS_INVALID')
})

test('ten installations at the same time install the hooks once', async () => {
  await using world = new HookUser()
  const path = world.file('claude')
  plant(path, mine)
  const finished = await Promise.all(Array.from({ length: 10 }, () => world.hook(['install', 'claude'])))
  expect(finished.map(({ code }) => code)).toEqual(Array.from({ length: 10 }, () => 0))
  expect(world.read(path).match(/stint-hook\.cjs/g)).toHaveLength(usualEvents('claude').length)
  expect(readdirSync(dirname(path))).toEqual(['settings.json'])
  await world.change('uninstall')
  expect(world.read(path)).toBe(mine)
})

test('without a name: hooks for every agent with a directory or a program on PATH, and no other', async () => {
  await using world = new HookUser()
  mkdirSync(join(world.user, '.codex'))
  plant(join(world.bin, 'gemini'), '#!/bin/sh\n')
  chmodSync(join(world.bin, 'gemini'), 0o755)
  mkdirSync(join(world.user, '.config/opencode'), { recursive: true })
  const installed = await world.change('install')
  expect(installed.map(({ agent }) => agent)).toEqual(['codex', 'gemini', 'opencode'])
  expect(existsSync(join(world.user, '.claude'))).toBe(false)
  const removed = await world.change('uninstall')
  expect(removed.map(({ agent }) => agent)).toEqual(['codex', 'gemini', 'opencode'])
  expect(await world.change('uninstall')).toEqual([])
})

test('without any agent: the error lists the supported ones', async () => {
  await using world = new HookUser()
  const { code, ...finished } = await world.hook(['install'])
  expect([code, finished.envelope().error?.code]).toEqual([5, 'NOT_FOUND'])
  expect(finished.envelope().error?.suggestion).toContain('claude')
})

test('--project writes the bare name stint-hook, and warns if it is not on PATH', async () => {
  await using world = new HookUser()
  const finished = await world.hook([
    'install',
    'claude',
    'codex',
    'cursor',
    'gemini',
    'copilot',
    '--project',
  ])
  expect(finished.envelope().warnings).toEqual([expect.stringContaining('stint-hook is not on PATH')])
  const files = ['.claude/settings.json', '.codex/hooks.json', '.github/hooks/stint.json']
  for (const file of files) {
    const text = world.read(join(world.project, file))
    expect(text).toMatch(/"NODE_EXTRA_CA_CERTS= stint-hook (claude|codex|copilot)/)
    expect(text).not.toContain(world.tmp)
  }
  symlinkSync(hookBin, join(world.bin, 'stint-hook'))
  const again = await world.hook(['install', 'claude', '--project'])
  expect(again.envelope()).toMatchObject({ warnings: [], data: { hooks: [{ outcome: 'unchanged' }] } })
  await world.change('uninstall')
  for (const file of files) expect(existsSync(join(world.project, file))).toBe(false)
})

test('a subdirectory uses the settings at the top of the project; a Codex worktree those of its main checkout', async () => {
  await using world = new HookUser()
  await world.git('init')
  await world.git('commit', '--allow-empty', '-m', 'first')
  const worktree = join(world.tmp, 'worktree')
  await world.git('worktree', 'add', worktree)
  mkdirSync(join(worktree, 'deep'))
  const finished = await world.hook(['install', 'claude', 'codex', '--project'], join(worktree, 'deep'))
  expect(finished.envelope().data).toMatchObject({
    hooks: [
      { agent: 'claude', path: join(worktree, '.claude/settings.json') },
      { agent: 'codex', path: join(world.project, '.codex/hooks.json') },
    ],
  })
})

test('--local means personal settings in the project, which only Claude Code has', async () => {
  await using world = new HookUser()
  mkdirSync(join(world.user, '.claude'))
  mkdirSync(join(world.user, '.codex'))
  const path = join(world.project, '.claude/settings.local.json')
  expect(await world.change('install', '--local')).toMatchObject([{ agent: 'claude', path }])
  expect(world.read(path)).toContain(`${hookBin} claude || [ $? -ne 2 ] || exit 2"`)
  const { code, ...finished } = await world.hook(['install', 'codex', '--local'])
  expect([code, finished.envelope().error?.code]).toEqual([2, 'ARG_ERROR'])
})

test("vscode is another name for Claude Code's settings, which VS Code reads", async () => {
  await using world = new HookUser()
  const { data } = (await world.hook(['install', 'vscode', 'claude'])).envelope()
  expect(data).toMatchObject({
    hooks: [{ agent: 'claude', path: world.file('claude') }],
    next: expect.arrayContaining([expect.stringContaining('VS Code runs the hooks')]),
  })
  expect(await world.change('uninstall', 'vscode')).toMatchObject([{ agent: 'claude' }])
})

test('a misspelt agent gets a suggestion, an unknown one the list of agents', async () => {
  await using world = new HookUser()
  const suggestion = async (name: string) =>
    (await world.hook(['install', name])).envelope().error?.suggestion
  expect(await suggestion('calude')).toBe('Did you mean claude?')
  expect(await suggestion('Codex')).toBe('Did you mean codex?')
  const all = Object.keys(hosts).join(', ')
  expect(await suggestion('emacs')).toBe(`There are ${all}.`)
  const page = readFileSync(join(projectRoot, 'docs/hooks.md'), 'utf8')
  expect(page.replaceAll('`', '').replaceAll(/\s+/g, ' ')).toContain(`: ${all}.`)
})

test.each([
  [['install', 'emacs'], 'there is no agent "emacs"'],
  [['install', '--user', '--project'], 'exclude each other'],
  [['install', '--scope', 'all'], 'scope'],
  [['uninstall', '--fail-closed'], 'fail-closed'],
])('stint hook %j is refused', async (args, message) => {
  await using world = new HookUser()
  const { code, ...finished } = await world.hook(args)
  expect([code, finished.envelope().error?.code]).toEqual([2, 'ARG_ERROR'])
  expect(finished.envelope().error?.message).toContain(message)
})

test('--dry-run on a terminal shows tabs as they are, and other control characters escaped', async () => {
  await using world = new HookUser()
  plant(world.file('claude'), '{\n\t"a": "\u007f"\n}\n')
  const read = await world.onTerminal('hook install claude --dry-run')
  expect(read).toContain('+\t"a": "\\u007f",')
  expect(read).not.toContain('u0009')
})

test('--dry-run on a terminal shows each diff, paths with ~, and a summary', async () => {
  await using world = new HookUser()
  const read = await world.onTerminal('hook install claude --dry-run')
  expect(read).toMatch(/^Claude Code: would install in ~\//)
  expect(read).toMatch(/^\+}\r?\nnothing was changed; 1 file would be\r?$/m)
})

test('--dry-run shows a diff that `patch` can apply, and changes nothing', async () => {
  await using world = new HookUser()
  const path = world.file('claude')
  plant(path, mine)
  const before = contentOf(world.user)
  const [row] = await world.change('install', 'claude', '--dry-run')
  expect(contentOf(world.user)).toEqual(before)
  expect(existsSync(world.env.STINT_HOME ?? '')).toBe(false)
  expect(row?.diff).toMatch(/^--- .*settings\.json\n\+\+\+ .*settings\.json\n@@/)
  expect(row?.diff).toContain('+  "hooks": {')
  // git applies the diff: the result must be the file that is installed.
  const patched = join(world.tmp, 'patched')
  mkdirSync(patched)
  writeFileSync(join(patched, 'f'), mine)
  const diff = (row?.diff ?? '').replace(/^--- .*\n\+\+\+ .*/, '--- a/f\n+++ b/f')
  await world.start('git', ['apply', '-'], { cwd: patched, input: diff }).finished
  await world.change('install', 'claude')
  expect(world.read(join(patched, 'f'))).toBe(world.read(path))
  const [gone] = await world.change('uninstall', '--dry-run')
  expect(gone?.diff).toContain('-  "hooks": {')
  expect(world.read(path)).toContain('stint-hook')
})

test('the output names the change and the next steps', async () => {
  await using world = new HookUser()
  plant(world.file('codex'), '{"hooks": {}}\n')
  const stdout = (await world.onTerminal('hook install')).replaceAll(/\s+/g, ' ')
  expect(stdout).toContain(`Codex: installed in ${shortPath(world.file('codex'), world.env.HOME)}`)
  expect(stdout).toContain('start Codex, enter /hooks and press t.')
})

test("OpenCode: stint writes its own plugin, and leaves another's alone", async () => {
  await using world = new HookUser()
  const path = join(world.user, '.config/opencode/plugins/stint.js')
  await world.change('install', 'opencode', '--scope', 'paths')
  expect(world.read(path)).toContain('stintPlugin({"scope":"paths"})')
  expect(await world.change('install', 'opencode', '--scope', 'paths')).toMatchObject([
    { outcome: 'unchanged' },
  ])
  expect(await world.change('uninstall')).toMatchObject([{ agent: 'opencode', outcome: 'removed' }])
  expect(existsSync(path)).toBe(false)
  plant(path, 'export const mine = 1\n')
  expect((await world.hook(['install', 'opencode'])).envelope().error?.code).toBe('NAME_TAKEN')
  expect(await world.change('uninstall')).toEqual([])
  expect(world.read(path)).toBe('export const mine = 1\n')
})

test.each<SettingsAgentName>(['claude', 'codex'])(
  '%s: the variable of the agent names its directory',
  async (agent) => {
    await using world = new HookUser()
    const home = join(world.tmp, 'agent-home')
    world.env[agent === 'claude' ? 'CLAUDE_CONFIG_DIR' : 'CODEX_HOME'] = home
    const [row] = await world.change('install', agent)
    expect(dirname(row?.path ?? '')).toBe(home)
  },
)
